//! Capabilities of root that nothing else holds back: to look at what another process began with, where the kernel lets those do so
//! who measure programs, and to set up machine and network. Whoever is not root has none of them.

use std::io;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, capabilities, capability_is_in_bounding_set, remove_capability_from_bounding_set,
    set_capabilities,
};

const GIVEN_UP: [CapabilitySet; 4] =
    [CapabilitySet::SYS_PTRACE, CapabilitySet::PERFMON, CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN];

/// Gives them up for good: not even a program of root gets them back.
pub(super) fn give_up() -> io::Result<()> {
    let mut own = capabilities(None)?;
    for capability in GIVEN_UP {
        match capability_is_in_bounding_set(capability) {
            Ok(true) if own.permitted.contains(CapabilitySet::SETPCAP) => {
                remove_capability_from_bounding_set(capability)?;
            }
            // Whoever may not do that gains none: nothing that is executed brings more along.
            Ok(_) => {}
            // An older kernel does not know it.
            Err(Errno::INVAL) => continue,
            Err(error) => return Err(error.into()),
        }
        own.effective.remove(capability);
        own.permitted.remove(capability);
        own.inheritable.remove(capability);
    }
    Ok(set_capabilities(None, own)?)
}
