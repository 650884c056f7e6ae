import Contract
import HTTPAccess
import Store
import Telemetry

// Exports (contract §20.5). The document is stored nowhere.
extension OperatorService {
    func export(
        _ wish: ExportOperations.Export, _ call: inout AdminGate.Call
    ) async throws(HTTPRefusal) -> [UInt8] {
        guard let principal = wish.principal else { throw .notOneOfTwoIDs }
        try await self.gate.admit(call.event.actor, within: Rates.exports)
        let document = try await self.stored { () async throws(StoreError) in
            try await self.identities.document(of: principal)
        }
        guard let document else { throw .unknown(principal) }
        // Only now: the audit log must not name a person who has been erased.
        call.event.target = "\(principal)"
        call.event.note = wish.reason
        self.exports.given[.operator].increment()
        return document
    }
}
