//! Matrix products over f32 buffers, with the kernels of candle's CPU backend.
//!
//! The buffers are plain vectors wrapped in candle's storage, so a product returns a vector of its own that
//! may be changed in place: no tensor bookkeeping, no hidden copies.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, Layout, Shape};
use rayon::prelude::*;

use super::DecoderError;
use super::lanes;

/// Rows of a projection that one task multiplies with a single row: less is not worth a thread.
const ROWS_OF_A_TASK: usize = 64;

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

    /// Its first row where the numbers of a row lie side by side.
    fn row(&self) -> Option<&[f32]> {
        match self.storage {
            CpuStorage::F32(values) if self.col_stride == 1 => {
                values.get(self.offset..self.offset + self.cols)
            }
            _ => None,
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
///
/// One row alone is bound by the memory that the weights come from, so they are read once and in order.
pub(crate) fn project(input: View, weight: &Matrix) -> Result<Vec<f32>, DecoderError> {
    if let (1, Some(row)) = (input.rows, input.row().filter(|row| row.len() == weight.cols)) {
        let rows = weight.values().par_chunks(weight.cols.max(1)).with_min_len(ROWS_OF_A_TASK);
        return Ok(rows.map(|weights| lanes::dot(row, weights)).collect());
    }
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

    #[test]
    fn one_row_goes_through_a_projection_as_several_do() {
        let number = |i: usize| (i * 7919 % 1000) as f32 / 500.0 - 1.0;
        let weight = Matrix::new((0..300 * 45).map(number).collect(), 300, 45);
        let rows = Matrix::new((0..3 * 45).map(|i| number(i + 17)).collect(), 3, 45);
        let several = project(rows.view(), &weight).unwrap();
        for row in 0..3 {
            let one = project(rows.view_rows(row, 1), &weight).unwrap();
            let want = &several[row * 300..][..300];
            assert!(one.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-5) && one.len() == 300);
        }
        assert!(project(Matrix::new(vec![1.0; 44], 1, 44).view(), &weight).is_err());
    }
}
