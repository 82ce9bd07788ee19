//! Gives memory that was freed back to the kernel. The allocator of the C library keeps what lies between pieces in use, so
//! that a runtime stays as large as its busiest moment has made it.

/// Gives back what is free, as far as the allocator knows how. Takes some milliseconds.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(
        unsafe_code,
        reason = "the C library has no safe name for it; it takes a number, and may be called at any time"
    )]
    // SAFETY: `malloc_trim` has no conditions: it takes its own locks, and no memory in use is touched.
    unsafe {
        libc::malloc_trim(0);
    }
}
