//! The whole of it: addresses of a capture in, frames out.

use std::sync::Arc;

use dashmap::{DashMap, ReadOnlyView};
use rayon::prelude::*;
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::module;
use super::{
    ImageId, MemoryMaps, ModuleFault, ModuleFaultKind, NativeFrame, SymbolOptions, SymbolSummary,
};

/// Resolves addresses of a capture.
#[derive(Debug)]
pub struct Symbolizer {
    maps: Arc<MemoryMaps>,
    options: SymbolOptions,
}

impl Symbolizer {
    /// A symbolizer for the addresses of a capture with these maps.
    #[must_use]
    pub fn new(maps: MemoryMaps, options: SymbolOptions) -> Self {
        Self {
            maps: Arc::new(maps),
            options,
        }
    }

    /// What was mapped where.
    #[must_use]
    pub fn maps(&self) -> &MemoryMaps {
        &self.maps
    }

    /// Resolves addresses, each a generation and a return address, in parallel. They may repeat:
    /// every file is read once, and every address looked up once.
    #[must_use]
    pub fn resolve_all(&self, addresses: &[(u32, u64)]) -> NativeSymbols {
        let (by_image, n_unmapped) = self.by_image(addresses);
        let frames = DashMap::default();
        let resolved: Vec<_> = by_image
            .par_iter()
            .filter_map(|(id, addresses)| self.resolve_image(*id, addresses, &frames))
            .collect();
        let n_unresolved = resolved.iter().map(|module| module.n_unresolved).sum();
        let modified = resolved.iter().filter(|module| module.is_modified);
        let mut modified: Vec<String> = modified.map(|module| module.path.clone()).collect();
        modified.sort();
        modified.dedup();
        let fault = |module: ResolvedModule| {
            Some(ModuleFault {
                kind: module.fault?,
                path: module.path,
                n_unresolved: module.n_unresolved,
            })
        };
        let mut faults: Vec<_> = resolved.into_iter().filter_map(fault).collect();
        faults.sort_by(|a, b| a.path.cmp(&b.path));
        let summary = SymbolSummary {
            n_addresses: frames.len() as u64,
            n_unresolved,
            n_unmapped,
            n_modules: by_image.len() as u64,
            faults,
            modified,
        };
        NativeSymbols {
            maps: Arc::clone(&self.maps),
            frames: frames.into_read_only(),
            summary,
        }
    }

    /// Addresses in the file, sorted and distinct, of each image in order, and the number of
    /// addresses in no image.
    fn by_image(&self, addresses: &[(u32, u64)]) -> (Vec<(ImageId, Vec<u64>)>, u64) {
        let mut unmapped = FxHashSet::default();
        let mut found = Vec::new();
        for &(generation, ip) in addresses {
            match self.maps.find(generation, ip) {
                Some(key) => found.push(key),
                None => {
                    unmapped.insert((generation, ip));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        let images = found.chunk_by(|a, b| a.0 == b.0);
        let by_image = images.filter_map(|keys| {
            let addresses = keys.iter().map(|&(_, address)| address);
            Some((keys.first()?.0, addresses.collect()))
        });
        (by_image.collect(), unmapped.len() as u64)
    }

    /// Adds the frames at addresses of an image.
    fn resolve_image(
        &self,
        id: ImageId,
        addresses: &[u64],
        frames: &Frames,
    ) -> Option<ResolvedModule> {
        let image = self.maps.image(id)?;
        let resolved = module::resolve(image, addresses, &self.options);
        for (&address, found) in addresses.iter().zip(resolved.frames) {
            frames.insert((id, address), found);
        }
        Some(ResolvedModule {
            path: String::from_utf8_lossy(&image.path).into_owned(),
            n_unresolved: resolved.n_unresolved,
            fault: resolved.fault,
            is_modified: resolved.is_modified,
        })
    }
}

/// What is to be said of a module, once its frames are known.
struct ResolvedModule {
    path: String,
    n_unresolved: u64,
    fault: Option<ModuleFaultKind>,
    is_modified: bool,
}

type Frames = DashMap<(ImageId, u64), Box<[NativeFrame]>, FxBuildHasher>;

/// Frames of a capture's native addresses.
#[derive(Debug)]
pub struct NativeSymbols {
    maps: Arc<MemoryMaps>,
    frames: ReadOnlyView<(ImageId, u64), Box<[NativeFrame]>, FxBuildHasher>,
    summary: SymbolSummary,
}

impl NativeSymbols {
    /// The frames at a return address, innermost first. Empty if it is in no segment of its
    /// generation; else at least one, whose function is `module+0xoffset` if nothing is known.
    ///
    /// Only for addresses that were handed to [`Symbolizer::resolve_all`]; others have none.
    #[must_use]
    pub fn frames(&self, generation: u32, ip: u64) -> &[NativeFrame] {
        self.maps
            .find(generation, ip)
            .and_then(|key| self.frames.get(&key))
            .map_or(&[], |frames| frames)
    }

    /// What was not resolved, and why.
    #[must_use]
    pub fn summary(&self) -> &SymbolSummary {
        &self.summary
    }
}
