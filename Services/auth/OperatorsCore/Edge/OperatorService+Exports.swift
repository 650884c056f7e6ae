import Contract
import HTTPAccess
import Store
import Telemetry

// Exports (contract §20.5). The document is stored nowhere.
extension OperatorService {
    func export(
        _ wish: ExportOperations.Export, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        try await self.gate.admit(call.event.actor, within: Rates.exports)
        let document = try await self.stored { () async throws(StoreError) in
            try await self.identities.document(of: wish.identity)
        }
        guard let document else { throw .unknownIdentity }
        // Only now: the audit log must not name a person who has been erased.
        call.event.target = "\(wish.identity)"
        call.event.note = wish.reason
        self.exports.given[.operator].increment()
        return document
    }
}
