//! The model of a run: found when it is first asked about, loaded when something must be read, and then kept.

use std::cell::OnceCell;
use std::sync::atomic::AtomicBool;

use crate::evidence::Provenance;
use crate::model::{LanguageModel, ModelLocation, TextModelFacts};

use super::InspectError;
use super::detectors::HeadFiles;
use super::inspector::{Inspector, bind_detectors};
use super::message::Message;
use super::run::Plan;

/// A place for one model.
pub(super) struct ModelSlot<'p> {
    plan: &'p Plan,
    heads: &'p HeadFiles,
    located: OnceCell<(ModelLocation, TextModelFacts)>,
    model: OnceCell<LanguageModel>,
}

impl<'p> ModelSlot<'p> {
    /// Empty.
    pub fn new(plan: &'p Plan, heads: &'p HeadFiles) -> Self {
        Self { plan, heads, located: OnceCell::new(), model: OnceCell::new() }
    }

    /// Where the model is and what it is; fetched where the plan allows that.
    fn located(
        &self,
        cancel: &AtomicBool,
        send: &mut dyn FnMut(Message),
    ) -> Result<&(ModelLocation, TextModelFacts), InspectError> {
        if let Some(located) = self.located.get() {
            return Ok(located);
        }
        let location = self.plan.locate(cancel, send)?;
        send(Message::Stage("checking the model's hash".to_owned()));
        let facts =
            TextModelFacts::of(&location, &self.plan.cache).map_err(crate::model::ModelError::from)?;
        Ok(self.located.get_or_init(|| (location, facts)))
    }

    /// Writes model and heads into a provenance, before anything is loaded.
    pub fn name(
        &self,
        provenance: &mut Provenance,
        cancel: &AtomicBool,
        send: &mut dyn FnMut(Message),
    ) -> Result<(), InspectError> {
        let (_, facts) = self.located(cancel, send)?;
        provenance.model = Some(facts.name.clone());
        provenance.model_hash = Some(facts.short_hash().to_owned());
        provenance.head_hash = self.heads.hash_for(facts.short_hash())?;
        Ok(())
    }

    /// Loads the model, if it is not loaded, and gives it to an inspector with its detectors.
    pub fn bind<'s>(
        &'s self,
        inspector: &mut Inspector<'s>,
        cancel: &AtomicBool,
        send: &mut dyn FnMut(Message),
    ) -> Result<(), InspectError> {
        let mut provenance = inspector.provenance().clone();
        self.name(&mut provenance, cancel, send)?;
        let (location, facts) = self.located(cancel, send)?;
        let model = if let Some(model) = self.model.get() {
            model
        } else {
            send(Message::Stage(format!("loading {}", facts.name)));
            let model = LanguageModel::open_on(location, &self.plan.cache, self.plan.placement)?
                .reading_at_most(self.plan.context);
            self.model.get_or_init(|| model)
        };
        let (detectors, notice) = bind_detectors(model, &self.plan.heads, self.heads)?;
        if let Some(notice) = notice {
            send(Message::Notice(notice));
        }
        inspector.rename(provenance);
        inspector.bind(model, detectors);
        Ok(())
    }
}
