//! What was mapped where: the image behind an address, in each generation of the map.

use rustc_hash::FxHashMap;

/// An [`Image`] of [`MemoryMaps`], numbered in the order of the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageId(u32);

impl ImageId {
    /// The number, as an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A file that was mapped. Two loads of one path are one image if their segments are the same,
/// wherever they were loaded.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Image {
    /// Path, as the capture has it.
    pub path: Box<[u8]>,
    /// Virtual address and size of each segment, in the file's own address space.
    pub segments: Box<[(u64, u64)]>,
}

impl Image {
    /// The file's name without its folders, as text.
    #[must_use]
    pub fn module(&self) -> String {
        let name = self.path.rsplit(|&b| b == b'/').next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    }
}

/// A mapped part of an image.
///
/// * Shape: sorted by start in each generation; of equal starts the last is the widest
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    start: u64,
    size: u64,
    bias: u64,
    image: ImageId,
}

/// Images and where they were mapped, by generation.
///
/// Generations count from 1: a capture writes its whole map again whenever a library was loaded or
/// unloaded. Lookups take time in the logarithm of a generation's segments.
#[derive(Debug, Clone, Default)]
pub struct MemoryMaps {
    images: Vec<Image>,
    ranges: Vec<Range>,
    /// End of each generation in `ranges`.
    ends: Vec<usize>,
}

impl MemoryMaps {
    /// Number of generations, the number of the last one.
    #[must_use]
    pub fn generations(&self) -> u32 {
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }

    /// The image of a number, `None` for one of other maps.
    #[must_use]
    pub fn image(&self, id: ImageId) -> Option<&Image> {
        self.images.get(id.index())
    }

    /// All images, by number.
    #[must_use]
    pub fn images(&self) -> &[Image] {
        &self.images
    }

    /// The image that the call before return address `ip` is in, and the call's address in the
    /// file's own address space: what symbol tables and debug information count in.
    ///
    /// The byte before `ip` counts, as a call may be the last instruction of its segment. Where
    /// segments overlap, which only damage explains, the one that starts last counts.
    #[must_use]
    pub fn find(&self, generation: u32, ip: u64) -> Option<(ImageId, u64)> {
        let call = ip.checked_sub(1)?;
        let ranges = self.generation(generation)?;
        let after = ranges.partition_point(|range| range.start <= call);
        let range = ranges.get(after.checked_sub(1)?)?;
        (call - range.start < range.size).then(|| (range.image, call.wrapping_sub(range.bias)))
    }

    fn generation(&self, generation: u32) -> Option<&[Range]> {
        let index = usize::try_from(generation).ok()?.checked_sub(1)?;
        let end = *self.ends.get(index)?;
        let start = match index.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.ranges.get(start..end)
    }
}

/// An image whose segments are still coming.
#[derive(Debug)]
struct OpenImage {
    path: Box<[u8]>,
    bias: u64,
    segments: Vec<(u64, u64)>,
}

/// [`MemoryMaps`] in the making, record by record.
#[derive(Debug, Default)]
pub struct MemoryMapsBuilder {
    maps: MemoryMaps,
    numbers: FxHashMap<Image, ImageId>,
    open: Option<OpenImage>,
    n_generations: u32,
}

impl MemoryMapsBuilder {
    /// Starts a new generation, empty.
    pub fn start_map(&mut self) {
        self.close_generation();
        self.n_generations = self.n_generations.saturating_add(1);
    }

    /// Adds an image to the generation; its segments follow. `bias` is what was added to the
    /// addresses in the file when it was loaded. Nothing happens before the first generation.
    pub fn add_image(&mut self, file: &[u8], bias: u64) {
        self.close_image();
        if self.n_generations > 0 {
            self.open = Some(OpenImage {
                path: file.into(),
                bias,
                segments: Vec::new(),
            });
        }
    }

    /// Adds a segment to the last image. Nothing happens without one.
    pub fn add_segment(&mut self, virtual_address: u64, size: u64) {
        if let Some(image) = &mut self.open {
            image.segments.push((virtual_address, size));
        }
    }

    /// Number of generations so far: the one that allocations belong to from here on, 0 before any.
    #[must_use]
    pub fn generations(&self) -> u32 {
        self.n_generations
    }

    /// The maps, ready for lookups.
    #[must_use]
    pub fn finish(mut self) -> MemoryMaps {
        self.close_generation();
        self.maps
    }

    fn close_image(&mut self) {
        let Some(open) = self.open.take() else {
            return;
        };
        let image = Image {
            path: open.path,
            segments: open.segments.into(),
        };
        let image = match self.numbers.get(&image) {
            Some(&id) => id,
            None => {
                let Ok(number) = u32::try_from(self.maps.images.len()) else {
                    return;
                };
                self.maps.images.push(image.clone());
                self.numbers.insert(image, ImageId(number));
                ImageId(number)
            }
        };
        let segments = &self.maps.images[image.index()].segments;
        let mapped = segments.iter().filter(|&&(_, size)| size > 0);
        self.maps
            .ranges
            .extend(mapped.map(|&(virtual_address, size)| Range {
                start: open.bias.wrapping_add(virtual_address),
                size,
                bias: open.bias,
                image,
            }));
    }

    fn close_generation(&mut self) {
        self.close_image();
        if self.n_generations == 0 {
            return;
        }
        let start = self.maps.ends.last().copied().unwrap_or(0);
        if let Some(ranges) = self.maps.ranges.get_mut(start..) {
            ranges.sort_by_key(|range| (range.start, range.size));
        }
        self.maps.ends.push(self.maps.ranges.len());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Load = (u8, u64, Vec<(u64, u64)>);

    fn built(generations: &[Vec<Load>]) -> MemoryMaps {
        let mut builder = MemoryMapsBuilder::default();
        for (n, loads) in generations.iter().enumerate() {
            assert_eq!(builder.generations() as usize, n);
            builder.start_map();
            for (path, bias, segments) in loads {
                builder.add_image(&[b'/', *path], *bias);
                for &(virtual_address, size) in segments {
                    builder.add_segment(virtual_address, size);
                }
            }
        }
        builder.finish()
    }

    /// The path and the address in the file, by looking at every segment.
    fn naive(loads: &[Load], ip: u64) -> Option<(u8, u64)> {
        let call = ip.checked_sub(1)?;
        let all = loads.iter().flat_map(|(path, bias, segments)| {
            let segments = segments.iter().filter(|&&(_, size)| size > 0);
            segments.map(move |&(at, size)| (bias.wrapping_add(at), size, *bias, *path))
        });
        // Of equal ones, `max_by_key` takes the last, as the sort keeps their order.
        let before = all.filter(|&(start, ..)| start <= call);
        let (start, size, bias, path) = before.max_by_key(|&(start, size, ..)| (start, size))?;
        (call - start < size).then(|| (path, call.wrapping_sub(bias)))
    }

    fn address() -> impl Strategy<Value = u64> {
        prop_oneof![0..80_u64, (0..80_u64).prop_map(|n| u64::MAX - n)]
    }

    fn loads() -> impl Strategy<Value = Vec<Load>> {
        let size = prop_oneof![0..12_u64, Just(u64::MAX)];
        let segments = prop::collection::vec((address(), size), 0..4);
        prop::collection::vec((b'a'..b'e', address(), segments), 0..6)
    }

    proptest! {
        #[test]
        fn lookups_equal_a_look_at_every_segment(
            generations in prop::collection::vec(loads(), 0..4),
        ) {
            let maps = built(&generations);
            prop_assert_eq!(maps.generations() as usize, generations.len());
            for (n, loads) in generations.iter().enumerate() {
                for ip in (0..=170).chain(u64::MAX - 170..=u64::MAX) {
                    let found = maps.find(u32::try_from(n + 1).unwrap(), ip);
                    let found = found.map(|(image, at)| (maps.image(image).unwrap().path[1], at));
                    prop_assert_eq!(found, naive(loads, ip), "generation {} ip {}", n + 1, ip);
                }
            }
            prop_assert_eq!(maps.find(0, 5), None);
            prop_assert_eq!(maps.find(maps.generations() + 1, 5), None);
            prop_assert_eq!(maps.find(u32::MAX, 5), None);
        }
    }

    #[test]
    fn an_image_is_one_wherever_it_was_loaded_until_its_segments_change() {
        let load = |bias: u64, size: u64| vec![(b'a', bias, vec![(0, size)])];
        let maps = built(&[load(0x1000, 16), load(0x2000, 16), load(0x2000, 32)]);
        assert_eq!(maps.images().len(), 2);
        let (first, second) = (maps.find(1, 0x1011), maps.find(2, 0x2010));
        assert_eq!((first, second), (None, Some((ImageId(0), 15))));
        assert_eq!(maps.find(1, 0x1010), Some((ImageId(0), 15)));
        assert_eq!(maps.find(3, 0x2020), Some((ImageId(1), 31)));
        assert_eq!(maps.images()[0].module(), "a");
    }

    #[test]
    fn what_comes_before_what_it_belongs_to_is_left_out() {
        let mut builder = MemoryMapsBuilder::default();
        builder.add_segment(0, 8);
        builder.add_image(b"early", 0);
        builder.add_segment(0, 8);
        builder.start_map();
        builder.add_segment(0, 8);
        let maps = builder.finish();
        assert_eq!((maps.generations(), maps.find(1, 4)), (1, None));
        assert!(maps.images().is_empty());
    }
}
