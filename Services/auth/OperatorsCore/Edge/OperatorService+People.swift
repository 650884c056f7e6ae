import Contract
import HTTPAccess
import Store

// One identity.
extension OperatorService {
    func person(_ id: WhisperID, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> PersonViews.Person {
        let found = try await self.stored { () async throws(StoreError) in try await self.people.find(id) }
        guard let found else { throw .unknownIdentity }
        // Only now: the audit log must not name a person who has been erased.
        call.event.target = "\(id)"
        return found
    }
}
