//! Faults on purpose: processes that are killed, disks that are full, folders that cannot be written, two processes at
//! one file, no network, a clock that is wrong. The real binary, in a sandbox.

mod sandbox;

#[path = "trust/crashes.rs"]
mod crashes;
#[path = "trust/disks.rs"]
mod disks;
#[path = "trust/families.rs"]
mod families;
#[path = "trust/offline.rs"]
mod offline;
#[path = "trust/order.rs"]
mod order;
#[path = "trust/sizes.rs"]
mod sizes;
