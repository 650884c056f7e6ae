/// A gauge that is read when somebody looks, for values that their owner knows anyway.
package struct ObservedGauge: Sendable {
    package let name: MetricName
    /// Called for each scrape, on any thread; must not block.
    package let read: @Sendable () -> Double

    package init(_ name: MetricName, read: @escaping @Sendable () -> Double) {
        self.name = name
        self.read = read
    }
}
