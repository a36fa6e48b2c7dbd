//! Numbers that refer to rows of tables.

/// Defines a row number: four bytes, dense from 0.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// The row, as an index.
            #[inline]
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The number of row `index`, or `None` past four bytes.
            #[must_use]
            pub fn new(index: usize) -> Option<Self> {
                u32::try_from(index).ok().filter(|&n| n != u32::MAX).map(Self)
            }
        }
    };
}

id! {
    /// A string of a [`StringTable`](crate::StringTable); 0 is the empty one.
    StringId
}
id! {
    /// A frame of a [`FrameTable`](crate::FrameTable); 0 is the root's.
    FrameId
}
id! {
    /// A node of a [`CallTree`](crate::CallTree); 0 is the root, the empty stack.
    NodeId
}
id! {
    /// A [`Location`](crate::Location), numbered in the order of first events.
    LocationId
}
id! {
    /// A stack as the capture distinguishes them, finer than what is shown.
    StackId
}
id! {
    /// A [`Thread`](crate::Thread), numbered in the order of first appearance.
    ThreadId
}

impl LocationId {
    /// Stands where an event has no location: deallocations.
    pub const NONE: Self = Self(u32::MAX);
}

impl ThreadId {
    /// Stands where an event is no thread's.
    pub const NONE: Self = Self(u32::MAX);
}
