//! What the binary does, command by command: exit codes, messages, files, hostile input.
//!
//! Everything runs in a sandbox without the default model; where answers have to be read, a tiny model
//! made by the test reads them. `tests/real_model.rs` reads with the default model.

mod sandbox;

#[path = "commands/asking.rs"]
mod asking;
#[path = "commands/certification.rs"]
mod certification;
#[path = "commands/configuration.rs"]
mod configuration;
#[path = "commands/corruption.rs"]
mod corruption;
#[path = "commands/evidence_lines.rs"]
mod evidence_lines;
#[path = "commands/failures.rs"]
mod failures;
#[path = "commands/gate.rs"]
mod gate;
#[path = "commands/heads.rs"]
mod heads;
#[path = "commands/highlighting.rs"]
mod highlighting;
#[path = "commands/hostile_models.rs"]
mod hostile_models;
#[path = "commands/hostile_text.rs"]
mod hostile_text;
#[path = "commands/machine.rs"]
mod machine;
#[path = "commands/reports.rs"]
mod reports;
#[path = "commands/retrieval.rs"]
mod retrieval;
#[path = "commands/shards.rs"]
mod shards;
#[path = "commands/signals.rs"]
mod signals;
#[path = "commands/verification.rs"]
mod verification;
#[path = "commands/workflow.rs"]
mod workflow;
