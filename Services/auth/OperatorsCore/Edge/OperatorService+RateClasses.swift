import ClusterContract
import Contract
import HTTPAccess
import Store

// Classes of rates.
extension OperatorService {
    /// - Parameter text: `nil` takes the class away.
    func setRateClass(
        _ text: String?, of identity: WhisperID, reason: String, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) {
        let name = try self.rateClass(text)
        call.event.note = "\(name?.description ?? RateClassName.none): \(reason)"
        var event = call.event
        // Only then: the audit log must not name a person who has been erased.
        event.target = "\(identity)"
        let recorded = event
        let outcome = try await self.stored { () async throws(StoreError) in
            try await self.rateClassing.set(name, of: identity, recording: recorded)
        }
        switch outcome {
        case .done: break
        case .unknownIdentity: throw .unknownIdentity
        case .tooMany: throw .tooManyRateClasses
        }
        call.event = event
        call.isRecorded = true
    }

    /// - Returns: the class that counts under this name.
    func rateClass(_ text: String?) throws(HTTPRefusal) -> RateClassName? {
        guard let text else { return nil }
        guard let name = self.rateClassing.classes.known(RateClassName(text)) else { throw .unknownRateClass }
        return name
    }

    func rateClassGrants() async throws(HTTPRefusal) -> [RateClassGrant] {
        try await self.stored { () async throws(StoreError) in try await self.rateClassing.grants() }
    }
}
