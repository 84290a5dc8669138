//! Attention by blocks of rows with an explicit softmax in f32.

use candle_core::{DType, Device, Result, Tensor};

use super::memory::MemoryBudget;
use super::{product, softmax};

/// Added to scores of keys that a row does not see: their weight is exactly 0.
const UNSEEN: f64 = -1e30;

/// One block's attention for the rows of one sequence.
pub(super) struct DeviceAttention<'a> {
    /// Rotated and scaled: [`kv_heads`, rows, group, D], f32.
    pub queries: &'a Tensor,
    /// Of all tokens, the new ones last: [`kv_heads`, tokens, D].
    pub keys: &'a Tensor,
    pub values: &'a Tensor,
    /// Tokens before the new ones.
    pub before: usize,
    pub window: Option<usize>,
    pub memory: &'a MemoryBudget,
}

/// What to keep of the weights.
#[derive(Clone, Copy)]
pub(super) struct Kept<'a> {
    /// Columns of ones where a token lies in a segment, [tokens, S]; `None`: no segment.
    pub indicator: Option<&'a Tensor>,
    pub among_new: bool,
    pub full: bool,
    /// Scores in f32 also where keys are of a shorter type.
    pub precise: bool,
}

/// The result on the device.
pub(super) struct Attended {
    /// [rows, heads * D], f32
    pub context: Tensor,
    /// [rows, heads, S]
    pub mass: Option<Tensor>,
    /// [rows, rows], mean over heads
    pub among_new: Option<Tensor>,
    /// [heads, rows, tokens]
    pub full: Option<Tensor>,
}

impl DeviceAttention<'_> {
    /// The first token that a row sees.
    fn first_seen(&self, row: usize) -> usize {
        self.window.map_or(0, |window| (self.before + row + 1).saturating_sub(window))
    }

    /// Blocks of rows one after another; the largest buffer is [heads, rows of a block, tokens].
    pub(super) fn run(&self, kept: Kept) -> Result<Attended> {
        let (kv_heads, rows, group, _) = self.queries.dims4()?;
        let tokens = self.before + rows;
        let step = self.memory.rows(kv_heads * group * tokens);
        let mut blocks: [Vec<Tensor>; 4] = Default::default();
        for start in (0..rows).step_by(step) {
            let block = self.block(start, step.min(rows - start), kept)?;
            blocks[0].push(block.context);
            blocks[1].extend(block.mass);
            blocks[2].extend(block.among_new);
            blocks[3].extend(block.full);
        }
        let [context, mass, among_new, full] = blocks;
        let joined = |blocks: Vec<Tensor>, dimension: usize| match blocks.len() {
            0 => Ok(None),
            _ => Tensor::cat(&blocks, dimension).map(Some),
        };
        Ok(Attended {
            context: Tensor::cat(&context, 0)?,
            mass: joined(mass, 0)?,
            among_new: joined(among_new, 0)?,
            full: joined(full, 1)?,
        })
    }

    fn block(&self, start: usize, count: usize, kept: Kept) -> Result<Attended> {
        let (kv_heads, rows, group, width) = self.queries.dims4()?;
        let (heads, tokens) = (kv_heads * group, self.before + rows);
        let first = self.first_seen(start);
        let seen = self.before + start + count - first;
        let queries = self.queries.narrow(1, start, count)?.reshape((kv_heads, count * group, width))?;
        let keys = self.keys.narrow(1, first, seen)?;
        let values = self.values.narrow(1, first, seen)?.contiguous()?;
        let scores = if kept.precise {
            queries.matmul(&keys.to_dtype(DType::F32)?.t()?.contiguous()?)?
        } else {
            product(&queries.to_dtype(keys.dtype())?, &keys.t()?.contiguous()?)?.to_dtype(DType::F32)?
        };
        let mask = self.mask(start, count, first, seen)?.reshape((1, count, 1, seen))?;
        let scores = scores.reshape((kv_heads, count, group, seen))?.broadcast_add(&mask)?;
        let weights = softmax(&scores)?;
        let flat = weights.reshape((kv_heads, count * group, seen))?;
        let context = product(&flat.to_dtype(values.dtype())?, &values)?
            .to_dtype(DType::F32)?
            .reshape((kv_heads, count, group * width))?
            .transpose(0, 1)?
            .contiguous()?
            .reshape((count, heads * width))?;
        let mass = kept.indicator.map(|indicator| {
            let segments = indicator.dim(1)?;
            flat.reshape((heads * count, seen))?
                .matmul(&indicator.narrow(0, first, seen)?)?
                .reshape((kv_heads, count, group * segments))?
                .transpose(0, 1)?
                .contiguous()?
                .reshape((count, heads, segments))
        });
        let among_new = kept.among_new.then(|| {
            let own = first.max(self.before);
            let mean = (weights.sum(2)?.sum(0)? * (1.0 / heads as f64))?;
            let own_seen = first + seen - own;
            let mean = mean.narrow(1, own - first, own_seen)?;
            padded(&mean.contiguous()?, own - self.before, rows)
        });
        let full = kept.full.then(|| {
            let by_head = weights.transpose(1, 2)?.contiguous()?.reshape((heads * count, seen))?;
            padded(&by_head, first, tokens)?.reshape((heads, count, tokens))
        });
        Ok(Attended {
            context,
            mass: mass.transpose()?,
            among_new: among_new.transpose()?,
            full: full.transpose()?,
        })
    }

    /// 0 where a row of the block sees a key, else [`UNSEEN`]: [count, seen], made on the device.
    fn mask(&self, start: usize, count: usize, first: usize, seen: usize) -> Result<Tensor> {
        let device = self.keys.device();
        let rows = positions(self.before + start, count, device)?.reshape((count, 1))?;
        let keys = positions(first, seen, device)?.reshape((1, seen))?;
        let rows = rows.broadcast_as((count, seen))?.contiguous()?;
        let keys = keys.broadcast_as((count, seen))?.contiguous()?;
        let mut sees = keys.le(&rows)?.to_dtype(DType::F32)?;
        if let Some(window) = self.window {
            let near = (&keys + window as f64)?.gt(&rows)?;
            sees = sees.mul(&near.to_dtype(DType::F32)?)?;
        }
        sees.affine(-UNSEEN, UNSEEN)
    }
}

fn positions(first: usize, count: usize, device: &Device) -> Result<Tensor> {
    // f32 holds every position of a context exactly, and every device compares it.
    Tensor::arange(first as f32, (first + count) as f32, device)
}

/// [rows, n] put at column `first` of [rows, columns], zeros beside it.
fn padded(values: &Tensor, first: usize, columns: usize) -> Result<Tensor> {
    let (rows, width) = values.dims2()?;
    let zeros = |width: usize| Tensor::zeros((rows, width), DType::F32, values.device());
    let mut pieces = Vec::with_capacity(3);
    if first > 0 {
        pieces.push(zeros(first)?);
    }
    pieces.push(values.clone());
    if first + width < columns {
        pieces.push(zeros(columns - first - width)?);
    }
    Tensor::cat(&pieces, 1)
}
