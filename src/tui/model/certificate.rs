//! What is known about the certificate of the run, prepared for drawing.

use super::page::Curve;
use crate::certify::{Alpha, AlphaRow, Bounds, DiagnosticsSettings, Verdict, coverage_band, judge};
use crate::inspect::CertificateSummary;

/// The summary, and what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct CertificateFigures {
    pub summary: CertificateSummary,
    /// Where the coverage of this many calibration values lies in 95 of 100 calibrations, by alpha.
    pub bands: Vec<(Alpha, Bounds)>,
    /// The judgement at the diagnosed level nearest to the present alpha.
    pub verdict: Option<Verdict>,
}

/// One point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    pub alpha: f64,
    pub value: f64,
    /// Where the true value may lie.
    pub band: Option<Bounds>,
}

impl CertificateFigures {
    pub fn new(summary: CertificateSummary, alpha: Alpha) -> Self {
        let levels = DiagnosticsSettings::default().alphas;
        let band = |alpha: &Alpha| Some((*alpha, coverage_band(summary.values, *alpha)?));
        let bands = levels.iter().filter_map(band).collect();
        let mut figures = Self { summary, bands, verdict: None };
        figures.judge_at(alpha);
        figures
    }

    /// Judges anew, at the diagnosed level nearest to `alpha`.
    pub fn judge_at(&mut self, alpha: Alpha) {
        let mode = self.summary.mode;
        self.verdict = self.summary.diagnostics.as_ref().and_then(|diagnostics| {
            let distance = |row: &&AlphaRow| row.alpha.thousandths().abs_diff(alpha.thousandths());
            let nearest = diagnostics.mode(mode).rows.iter().min_by_key(distance)?;
            Some(judge(diagnostics, nearest.alpha, mode))
        });
    }

    /// The diagnosed row at exactly this level.
    pub fn row(&self, alpha: Alpha) -> Option<&AlphaRow> {
        self.summary.diagnostics.as_ref()?.mode(self.summary.mode).row(alpha)
    }

    /// A figure over alpha, as measured on halves that did not calibrate.
    pub fn curve(&self, curve: Curve) -> Vec<CurvePoint> {
        let Some(diagnostics) = &self.summary.diagnostics else { return Vec::new() };
        let rows = diagnostics.mode(self.summary.mode).rows.iter();
        rows.filter_map(|row| {
            let value = match curve {
                Curve::M1 => &row.m1,
                Curve::M2 => &row.m2,
                Curve::Coverage => &row.coverage,
            };
            let value = value.value()?;
            let band = match curve {
                Curve::M1 => row.m1_standard_error.value().map(|error| Bounds {
                    lower: (value - 2.0 * error).max(0.0),
                    upper: (value + 2.0 * error).min(1.0),
                }),
                Curve::M2 => None,
                Curve::Coverage => row.coverage_band,
            };
            Some(CurvePoint { alpha: row.alpha.value(), value, band })
        })
        .collect()
    }
}
