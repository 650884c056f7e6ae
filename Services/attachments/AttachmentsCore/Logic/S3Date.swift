import Contract

/// A date and time as S3 writes them: `2026-01-31T12:00:00.000Z`.
package enum S3Date {
    /// - Returns: seconds since 1970; nil if it is none.
    package static func seconds(of text: String) -> Int64? {
        let fields = text.split { !$0.isNumber }.compactMap { Int($0) }
        guard fields.count >= 6, (1...12).contains(fields[1]), (1...31).contains(fields[2]) else { return nil }
        return CivilTime(
            year: fields[0], month: fields[1], day: fields[2], hour: fields[3], minute: fields[4], second: fields[5]
        ).seconds
    }
}
