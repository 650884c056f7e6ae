package import Contract

/// The rows of `KeptRecord` with the times in force, as far as this service is told its settings (contract §20.9).
package struct KeptRecords: Sendable {
    private let inForce: [String: Duration]

    /// - Parameter changed: times of rows whose setting this service has.
    package init(_ changed: [(KeptRecord, Duration)] = []) {
        var inForce: [String: Duration] = [:]
        for record in KeptRecord.all where record.setting == nil { inForce[record.name] = record.usual }
        for (record, time) in changed { inForce[record.name] = time }
        self.inForce = inForce
    }

    /// - Returns: `nil` if nothing but an event ends the record, or another service has the setting.
    package func time(of record: KeptRecord) -> Duration? { self.inForce[record.name] }
}
