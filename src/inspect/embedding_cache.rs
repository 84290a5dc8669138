//! Embeddings of a corpus, computed once.

use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use sha2::{Digest, Sha256};

use crate::model::{CacheDirectory, SentenceEncoder};
use crate::retrieval::RetrievalError;

use super::InspectError;
use super::corpus::Told;
use crate::disk::{FileAccess, read_at_most, write_whole};
use crate::text::hexadecimal;

/// Most bytes of a file that is believed to be one of ours.
const LARGEST: u64 = 16 << 30;

const TENSOR: &str = "embeddings";
const CUT: &str = "texts_cut";

/// Embeddings of a list of texts.
pub(super) struct Embedded {
    /// `[texts, width]`
    pub(super) values: Vec<f32>,
    /// Texts that were longer than the encoder reads.
    pub(super) cut: usize,
}

/// Embeds `texts`, or takes what was embedded before with the same encoder: the file is named by a hash over encoder
/// and texts. A cache that cannot be read or written only costs the time to embed again.
pub(super) fn embed(
    encoder: &SentenceEncoder,
    texts: &[&str],
    cache: &CacheDirectory,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<Embedded, InspectError> {
    let mut hasher = Sha256::new();
    hasher.update(format!("1 {} {} {}", encoder.short_hash(), encoder.longest(), encoder.pooling().name()));
    for text in texts {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    let name = hexadecimal(&hasher.finalize()[..16]);
    let folder = cache.path().join("embeddings");
    let path = folder.join(format!("{name}.safetensors"));
    if let Some(embedded) = read(&path, texts.len(), encoder.width()) {
        return Ok(embedded);
    }
    let mut told = 0;
    tell(Told::Doing(&format!("embedding {} chunks with {}", texts.len(), encoder.name())));
    let embeddings = encoder
        .encode(texts, &mut |done| {
            // Each tenth is told once.
            let tenth = done * 10 / texts.len().max(1);
            if tenth > told {
                told = tenth;
                tell(Told::Doing(&format!("embedding chunks: {done} of {}", texts.len())));
            }
        })
        .map_err(RetrievalError::from)?;
    let embedded = Embedded { values: embeddings.values, cut: embeddings.cut };
    // Losing this write is harmless: it has its name only when it is whole.
    let _ = write(&folder, &path, &embedded, texts.len());
    Ok(embedded)
}

fn read(path: &Path, texts: usize, width: usize) -> Option<Embedded> {
    let bytes = read_at_most(path, LARGEST).ok()?;
    let (_, metadata) = SafeTensors::read_metadata(&bytes).ok()?;
    let cut = metadata.metadata().as_ref()?.get(CUT)?.parse().ok()?;
    let file = SafeTensors::deserialize(&bytes).ok()?;
    let tensor = file.tensor(TENSOR).ok()?;
    if tensor.dtype() != Dtype::F32 || tensor.shape() != [texts, width] {
        return None;
    }
    let values: Vec<f32> =
        tensor.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    values.iter().all(|value| value.is_finite()).then_some(Embedded { values, cut })
}

fn write(folder: &Path, path: &Path, embedded: &Embedded, texts: usize) -> Option<()> {
    let bytes: Vec<u8> = embedded.values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let width = embedded.values.len() / texts.max(1);
    let view = TensorView::new(Dtype::F32, vec![texts, width], &bytes).ok()?;
    let metadata = std::collections::HashMap::from([(CUT.to_owned(), embedded.cut.to_string())]);
    let file = safetensors::serialize([(TENSOR, view)], Some(metadata)).ok()?;
    std::fs::create_dir_all(folder).ok()?;
    write_whole(path, &file, FileAccess::Private).ok()
}
