//! The one rule of changes: phases never go back, and the first end stays (contract: tasks.md).
