//! What must always hold, as folds over records.
