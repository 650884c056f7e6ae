import Contract
import WhisperClient

/// Answers of calls that are no verbs.
package enum CoreAnswer {
    package static let ok = Self.done("ok", isComplete: nil)

    package static func done(_ type: String, isComplete: Bool?) -> [UInt8] {
        var result = JSONWriter()
        result.add("type", type)
        if let isComplete { result.add("isComplete", isComplete) }
        var json = JSONWriter()
        json.add("result", json: result.finished())
        return json.finished()
    }

    /// The document of `docs/core.json`, on one line.
    package static let schema = Array(OpenRPC.text.utf8)
}

extension CoreError {
    package static var forked: CoreError { CoreError(.forked) }
    package static var closed: CoreError { CoreError(.closed) }
    package static var tooMany: CoreError { CoreError(.tooMany) }
    package static var tooLong: CoreError { CoreError(.tooLong) }
    package static var noFile: CoreError { CoreError(.notFound, "There is no such file here.") }
    package static var noText: CoreError { CoreError(.invalidCommand, "is NULL") }
    package static func configuration(_ field: String) -> CoreError { CoreError(.config, field: field) }
    package static func noPath(_ field: String) -> CoreError {
        CoreError(.invalidField, "is no absolute path of a file", field: field)
    }

    /// The whole answer of a call that was refused.
    package var answer: [UInt8] {
        var json = JSONWriter()
        Outcome.error(self).write(&json)
        return json.finished()
    }
}

extension Core {
    /// The same as `perform`, on a thread that may wait: never one of Swift's own.
    package func performBlocking(_ command: [UInt8]) -> [UInt8] {
        Blocking.wait { await self.perform(command) } ?? CoreError(.internal).answer
    }
}

/// One frame of a call, sealed for the way (`wsp_media_seal`).
package enum MediaFrame {
    package static let keyBytes = 32
    package static let overhead = 16

    package static func seal(_ frame: [UInt8], number: UInt64, key: [UInt8]) -> [UInt8] {
        Sodium.secretbox(frame, nonce: Self.nonce(number), key: key)
    }

    /// - Returns: `nil` if it is not what was sealed with key and number.
    package static func open(_ frame: [UInt8], number: UInt64, key: [UInt8]) -> [UInt8]? {
        Sodium.openSecretbox(frame, nonce: Self.nonce(number), key: key)
    }

    private static func nonce(_ number: UInt64) -> [UInt8] {
        [UInt8](repeating: 0, count: 16) + (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
