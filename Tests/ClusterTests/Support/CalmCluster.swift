import Testing

/// A cluster to which nothing happens but what its clients do. Its tests run beside each other; each brings its own
/// people.
@Suite(.cluster(), .atATime(10)) struct CalmCluster {}
