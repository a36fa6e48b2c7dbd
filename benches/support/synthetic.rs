//! Makes captures of any size, record by record.

use memreport_capture::{
    Allocation, Allocator, CodeObject, CodePush, Encoder, FileFormat, Header, MemoryRecord,
    PythonAllocator, PythonVersion, Record, Version,
};

const START_MS: i64 = 1_700_000_000_000;
const SLICES: u32 = 10_000;
const FUNCTIONS: u32 = 20_000;
const MAX_DEPTH: usize = 24;

/// What a made capture holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Allocations that live for some slices or to the end. Each has a location, a start and an end of its
    /// own, so nearly each becomes a row of the interval table.
    pub(crate) rows: usize,
    /// Nodes of the call tree; at most as many as there are rows are seen.
    pub(crate) nodes: usize,
    /// Blocks that are made and freed again at once, after each of those allocations and on its stack.
    pub(crate) short_lived: usize,
}

/// A capture of the newest format, not compressed. The same shape gives the same bytes.
pub(crate) fn capture(shape: Shape) -> Vec<u8> {
    let Shape {
        rows,
        nodes,
        short_lived,
    } = shape;
    let mut random = Random(1);
    let tree = Tree::new(nodes, &mut random);
    let plan = Plan::new(rows, nodes, &mut random);
    let n_events = plan.n_events() + 2 * (rows * short_lived) as u64;
    let mut encoder = Encoder::new(&header(n_events));
    for id in 0..u64::from(FUNCTIONS) {
        let function = format!("function_{id}");
        let file = format!("/srv/app/package_{}/module_{}.py", id % 40, id % 900);
        encoder.push(&Record::CodeObject(CodeObject {
            id,
            function: function.as_bytes(),
            file: file.as_bytes(),
            first_line: i32::try_from(id % 700).unwrap_or(0) + 1,
            line_table: b"",
        }));
    }
    encoder.push(&Record::ContextSwitch(1));
    let mut stack = Vec::new();
    for (slice, events) in plan.slices.iter().enumerate() {
        for &row in &events.allocated {
            let path = tree.path(plan.nodes[row]);
            go_to(&mut encoder, &mut stack, &path, &tree);
            let size = 16 + random.below(1 << 14) as u64;
            encoder.push(&call(Allocator::Malloc, row, size));
            churn(&mut encoder, row, short_lived);
        }
        for &row in &events.freed {
            encoder.push(&call(Allocator::Free, row, 0));
        }
        encoder.push(&Record::Memory(MemoryRecord {
            time_ms: START_MS.cast_unsigned() + 10 * (slice as u64 + 1),
            rss: 50_000_000 + 1000 * slice as u64,
        }));
    }
    encoder.push(&Record::Trailer);
    encoder.finish()
}

/// A capture in which so many ranges are mapped, then a part of each is unmapped in random order, at its start,
/// in its middle or at its end.
#[allow(dead_code, reason = "one benchmark has use for it")]
pub(crate) fn mappings(n: usize) -> Vec<u8> {
    const PAGE: u64 = 4096;
    let mut random = Random(1);
    let mut encoder = Encoder::new(&header(2 * n as u64));
    encoder.push(&Record::ContextSwitch(1));
    let mut order: Vec<u64> = (1..=n as u64).collect();
    for range in &order {
        encoder.push(&allocation(Allocator::Mmap, range * 16 * PAGE, 12 * PAGE));
    }
    for left in (1..order.len()).rev() {
        order.swap(left, random.below(left + 1));
    }
    for range in order {
        let offset = 4 * random.below(3) as u64;
        encoder.push(&allocation(
            Allocator::Munmap,
            (range * 16 + offset) * PAGE,
            4 * PAGE,
        ));
    }
    encoder.push(&Record::Trailer);
    encoder.finish()
}

/// Which allocation is made and freed in which slice.
struct Plan {
    slices: Vec<Events>,
    /// Tree node of each allocation.
    nodes: Vec<usize>,
}

#[derive(Default, Clone)]
struct Events {
    allocated: Vec<usize>,
    freed: Vec<usize>,
}

impl Plan {
    fn new(rows: usize, nodes: usize, random: &mut Random) -> Self {
        let n_slices = SLICES as usize;
        let mut slices = vec![Events::default(); n_slices];
        for row in 0..rows {
            let start = row * n_slices / rows;
            slices[start].allocated.push(row);
            // Most live for a while, some to the end.
            let reach = if random.below(4) == 0 { n_slices } else { 300 };
            let end = start + 1 + random.below(reach);
            if let Some(events) = slices.get_mut(end) {
                events.freed.push(row);
            }
        }
        let nodes = (0..rows)
            .map(|row| {
                if row < nodes {
                    row
                } else {
                    random.below(nodes)
                }
            })
            .collect();
        Self { slices, nodes }
    }

    fn n_events(&self) -> u64 {
        let of = |events: &Events| events.allocated.len() + events.freed.len();
        self.slices.iter().map(of).sum::<usize>() as u64
    }
}

/// A random call tree: the parent and the function of each node.
struct Tree {
    parents: Vec<usize>,
    functions: Vec<u64>,
}

impl Tree {
    fn new(nodes: usize, random: &mut Random) -> Self {
        let mut parents: Vec<usize> = Vec::with_capacity(nodes);
        let mut depths: Vec<usize> = Vec::with_capacity(nodes);
        let mut functions = Vec::with_capacity(nodes);
        for node in 0..nodes {
            // Mostly near to the newest nodes, so that the tree gets deep.
            let reach = if random.below(3) == 0 {
                node
            } else {
                node.min(40)
            };
            let parent = node.saturating_sub(1 + random.below(reach.max(1)));
            let depth = depths.get(parent).map_or(1, |depth| depth + 1);
            let fits = node > 0 && depth < MAX_DEPTH;
            parents.push(if fits { parent } else { node });
            depths.push(if fits { depth } else { 1 });
            functions.push(random.below(FUNCTIONS as usize) as u64);
        }
        Self { parents, functions }
    }

    /// Nodes from the outermost to this one.
    fn path(&self, node: usize) -> Vec<usize> {
        let mut path = vec![node];
        let mut at = node;
        while self.parents[at] != at {
            at = self.parents[at];
            path.push(at);
        }
        path.reverse();
        path
    }
}

/// Leaves and enters frames until the stack is `path`.
fn go_to(encoder: &mut Encoder, stack: &mut Vec<usize>, path: &[usize], tree: &Tree) {
    let same = stack.iter().zip(path).take_while(|(a, b)| a == b).count();
    let left = stack.len() - same;
    if left > 0 {
        encoder.push(&Record::FramePop(u32::try_from(left).unwrap_or(0)));
    }
    stack.truncate(same);
    for &node in &path[same..] {
        stack.push(node);
        encoder.push(&Record::CodePush(CodePush {
            code_id: tree.functions[node],
            instruction_offset: 0,
            is_entry: true,
        }));
    }
}

/// Small blocks that come and go, some of them two at a time, at addresses that are used again and again.
fn churn(encoder: &mut Encoder, row: usize, short_lived: usize) {
    let block = |n: usize| {
        let class = (row + n) % 30;
        let address = 0x1000 + 0x1000 * class as u64 + 16 * (n % 5) as u64;
        (address, 16 + 16 * class as u64)
    };
    let mut open = None;
    for n in 0..short_lived {
        let (address, size) = block(n);
        encoder.push(&allocation(Allocator::PymallocMalloc, address, size));
        let freed = match open.take() {
            Some(other) => [Some(address), Some(other)],
            None if n % 3 == 0 && n + 1 < short_lived => {
                open = Some(address);
                [None, None]
            }
            None => [Some(address), None],
        };
        for address in freed.into_iter().flatten() {
            encoder.push(&allocation(Allocator::PymallocFree, address, 0));
        }
    }
}

/// What happens to the block of a row.
fn call(allocator: Allocator, row: usize, size: u64) -> Record<'static> {
    allocation(allocator, 0x10_0000 + 0x10_0000 * row as u64, size)
}

fn allocation(allocator: Allocator, address: u64, size: u64) -> Record<'static> {
    Record::Allocation(Allocation {
        address,
        size,
        allocator,
        native_id: 0,
    })
}

fn header(n_allocations: u64) -> Header {
    Header {
        version: Version::new(13).expect("the format exists"),
        // With it, an empty line table means the first line.
        python_version: Some(PythonVersion { major: 3, minor: 9 }),
        native_traces: false,
        file_format: FileFormat::AllAllocations,
        n_allocations,
        n_frames: FUNCTIONS.into(),
        start_time_ms: START_MS,
        end_time_ms: START_MS + 10 * (i64::from(SLICES) + 1),
        command_line: b"python -m synthetic".to_vec(),
        pid: 7,
        main_thread_id: Some(1),
        skipped_frames_on_main_thread: 0,
        python_allocator: PythonAllocator::Pymalloc,
        trace_python_allocators: Some(false),
        track_object_lifetimes: false,
        libdest: Vec::new(),
        site_packages: Vec::new(),
        sys_path: Vec::new(),
    }
}

/// Numbers that look random and are the same every time (xorshift).
struct Random(u64);

impl Random {
    /// A number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap_or(0)
    }
}
