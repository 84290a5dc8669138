//! Matrix products over f32 buffers, with the kernels of candle's CPU backend.
//!
//! The buffers are plain vectors wrapped in candle's storage, so a product returns a vector of its own that
//! may be changed in place: no tensor bookkeeping, no hidden copies.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, Layout, Shape};

use super::DecoderError;

/// A row-major f32 matrix.
#[derive(Debug)]
pub(crate) struct Matrix {
    storage: CpuStorage,
    rows: usize,
    cols: usize,
}

impl Matrix {
    /// `values` must hold rows x cols numbers; a shorter one is an error at the first product.
    pub(crate) fn new(values: Vec<f32>, rows: usize, cols: usize) -> Self {
        debug_assert_eq!(values.len(), rows * cols);
        Self { storage: CpuStorage::F32(values), rows, cols }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn cols(&self) -> usize {
        self.cols
    }

    pub(crate) fn values(&self) -> &[f32] {
        match &self.storage {
            CpuStorage::F32(values) => values,
            _ => &[],
        }
    }

    pub(crate) fn view(&self) -> View<'_> {
        View {
            storage: &self.storage,
            offset: 0,
            rows: self.rows,
            cols: self.cols,
            row_stride: self.cols,
            col_stride: 1,
        }
    }

    /// Rows `first .. first + rows`.
    pub(crate) fn view_rows(&self, first: usize, rows: usize) -> View<'_> {
        View { offset: first * self.cols, rows, ..self.view() }
    }
}

/// A part of a matrix, possibly transposed.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    storage: &'a CpuStorage,
    offset: usize,
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl View<'_> {
    pub(crate) fn transposed(self) -> Self {
        Self {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    fn layout(&self) -> Layout {
        let shape = Shape::from((self.rows, self.cols));
        Layout::new(shape, vec![self.row_stride, self.col_stride], self.offset)
    }
}

/// `left` [m, k] times `right` [k, n]: m x n numbers, row-major.
pub(crate) fn product(left: View, right: View) -> Result<Vec<f32>, DecoderError> {
    let (m, k, n) = (left.rows, left.cols, right.cols);
    if right.rows != k {
        let message = format!("product of [{m}, {k}] and [{}, {n}]", right.rows);
        return Err(candle_core::Error::Msg(message).into());
    }
    match left.storage.matmul(right.storage, (1, m, n, k), &left.layout(), &right.layout())? {
        CpuStorage::F32(values) => Ok(values),
        _ => Err(candle_core::Error::Msg("product of f32 matrices is not f32".to_owned()).into()),
    }
}

/// `input` [rows, in] through a projection stored as [out, in]: [rows, out].
pub(crate) fn project(input: View, weight: &Matrix) -> Result<Vec<f32>, DecoderError> {
    product(input, weight.view().transposed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_take_rows_and_transpose_without_copying() {
        let a = Matrix::new((0..6).map(|x| x as f32).collect(), 3, 2);
        let b = Matrix::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2);
        assert_eq!(project(a.view_rows(1, 2), &b).unwrap(), [8.0, 18.0, 28.0, 14.0, 32.0, 50.0]);
        assert_eq!(product(a.view().transposed(), b.view()).unwrap(), [26.0, 32.0, 35.0, 44.0]);
        assert!(product(a.view(), b.view()).is_err());
    }
}
