//! Classifiers of the comparison, fitted on some rows and asked about others.

use half::f16;

use crate::detect::{
    BlockValues, DetectError, FeatureRows, LogisticSettings, Mlp, PrincipalComponents, SparseAutoencoder,
    TokenModel,
};
use crate::metrics::auroc;

use super::{EvaluationError, TokenClassifier};

/// Dictionary features that `RAGLens` keeps.
const KEPT_FEATURES: usize = 1000;
/// Of the directions that the search for principal components starts from; where it ends does not depend on them.
const PROJECTION_SEED: u64 = 42;

/// A fitted classifier.
pub(super) enum Fitted {
    /// One that can also be shipped as a head.
    Model(TokenModel),
    /// LLM-Check: the column that separates best on the training rows, calibrated.
    BestColumn {
        /// Number of the column.
        column: usize,
        model: TokenModel,
    },
    /// `RAGLens`.
    Dictionary {
        autoencoder: Box<SparseAutoencoder>,
        /// Its features with the most mutual information with the label.
        chosen: Vec<usize>,
        mlp: Mlp,
    },
    /// A classifier of principal components.
    PrincipalComponents { projection: PrincipalComponents, head: Box<Fitted> },
}

impl TokenClassifier {
    /// Fits on the chosen rows.
    pub(super) fn fit(
        &self,
        features: &FeatureRows<'_>,
        labels: &[bool],
        rows: &[usize],
    ) -> Result<Fitted, EvaluationError> {
        match self {
            Self::Mlp(_) | Self::Logistic(_) => Ok(Fitted::Model(self.train(features, labels, rows)?)),
            Self::BestColumn(settings) => best_column(features, labels, rows, settings),
            Self::Dictionary { autoencoder, mlp } => {
                let trained = SparseAutoencoder::train(features, rows, autoencoder)?;
                let information = trained.mutual_information(features, labels, rows)?;
                let mut chosen: Vec<usize> = (0..information.len()).collect();
                chosen.sort_by(|a, b| information[*b].total_cmp(&information[*a]).then(a.cmp(b)));
                chosen.truncate(KEPT_FEATURES);
                let codes = trained.encode(features, rows, &chosen)?;
                let width = chosen.len();
                let dense = FeatureRows::new(vec![(BlockValues::F16(&codes), width)])?;
                let own: Vec<bool> = rows.iter().map(|&row| labels[row]).collect();
                let mlp = Mlp::train(&dense, &own, &(0..rows.len()).collect::<Vec<_>>(), mlp)?;
                Ok(Fitted::Dictionary { autoencoder: Box::new(trained), chosen, mlp })
            }
            Self::PrincipalComponents { components, head } => {
                let projection = PrincipalComponents::fit(features, rows, *components, PROJECTION_SEED)?;
                let values = projection.project(features, rows)?;
                let dense = FeatureRows::new(vec![(BlockValues::F32(&values), projection.count())])?;
                let own: Vec<bool> = rows.iter().map(|&row| labels[row]).collect();
                let head = head.fit(&dense, &own, &(0..rows.len()).collect::<Vec<_>>())?;
                Ok(Fitted::PrincipalComponents { projection, head: Box::new(head) })
            }
        }
    }
}

impl Fitted {
    /// P(unsupported) for the chosen rows, in their order.
    pub(super) fn probabilities(
        &self,
        features: &FeatureRows<'_>,
        rows: &[usize],
    ) -> Result<Vec<f32>, EvaluationError> {
        match self {
            Self::Model(model) => Ok(model.probabilities(features, rows)?),
            Self::BestColumn { column, model } => {
                let values = self::column(features, rows, *column)?;
                let one = FeatureRows::new(vec![(BlockValues::F32(&values), 1)])?;
                Ok(model.probabilities(&one, &(0..rows.len()).collect::<Vec<_>>())?)
            }
            Self::Dictionary { autoencoder, chosen, mlp } => {
                let mut all = Vec::with_capacity(rows.len());
                for rows in rows.chunks(16_384) {
                    let codes: Vec<f16> = autoencoder.encode(features, rows, chosen)?;
                    let dense = FeatureRows::new(vec![(BlockValues::F16(&codes), chosen.len())])?;
                    all.extend(mlp.probabilities(&dense, &(0..rows.len()).collect::<Vec<_>>())?);
                }
                Ok(all)
            }
            Self::PrincipalComponents { projection, head } => {
                let values = projection.project(features, rows)?;
                let dense = FeatureRows::new(vec![(BlockValues::F32(&values), projection.count())])?;
                head.probabilities(&dense, &(0..rows.len()).collect::<Vec<_>>())
            }
        }
    }
}

/// One column of the chosen rows, `[rows]`.
fn column(features: &FeatureRows<'_>, rows: &[usize], number: usize) -> Result<Vec<f32>, DetectError> {
    let width = features.width();
    let mut all = vec![0.0; rows.len() * width];
    features.copy_rows(rows, &mut all)?;
    Ok(all.chunks_exact(width.max(1)).map(|row| row[number]).collect())
}

/// The column whose AUROC on the training rows is farthest from chance, either way, as a logistic regression.
fn best_column(
    features: &FeatureRows<'_>,
    labels: &[bool],
    rows: &[usize],
    settings: &LogisticSettings,
) -> Result<Fitted, EvaluationError> {
    let own: Vec<bool> = rows.iter().map(|&row| labels[row]).collect();
    let width = features.width();
    let mut all = vec![0.0; rows.len() * width];
    features.copy_rows(rows, &mut all)?;
    let values_of = |number: usize| all.iter().skip(number).step_by(width.max(1)).copied();
    let mut best = (0, -1.0);
    for number in 0..width {
        let scores: Vec<f64> = values_of(number).map(f64::from).collect();
        let distance = auroc(&own, &scores).value().map_or(0.0, |auroc| (auroc - 0.5).abs());
        if distance > best.1 {
            best = (number, distance);
        }
    }
    let values: Vec<f32> = values_of(best.0).collect();
    let one = FeatureRows::new(vec![(BlockValues::F32(&values), 1)])?;
    let places: Vec<usize> = (0..rows.len()).collect();
    let model = TokenClassifier::Logistic(*settings).train(&one, &own, &places)?;
    Ok(Fitted::BestColumn { column: best.0, model })
}
