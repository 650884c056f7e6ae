import ClusterContract
import Contract
import HTTPAccess
import Hummingbird
import Store

// Records about the caller (contract §20.5).
extension PublicRoutes {
    func export(_ request: Request, _ peer: NetworkAddress?) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: peer, within: Rates.accountExport)
        do throws(HTTPRefusal) {
            let document = try await self.document(for: session.caller)
            self.exports.given[.person].increment()
            return .download(document, as: "\(session.caller.identity).json")
        } catch {
            // Taken before, because calls at once must not get more; a person has two a day.
            await self.limiter.giveBack(Rates.accountExport, "\(session.caller.identity)")
            throw error
        }
    }

    private func document(for caller: Caller) async throws(HTTPRefusal) -> [UInt8] {
        let reading = try await self.stored { () async throws(StoreError) in
            try await self.held.document(for: caller)
        }
        switch reading {
        case .refused(let callerStatus): throw HTTPRefusal(callerStatus) ?? .internalError
        case .busy: throw .tooMany(retryAfterMilliseconds: 1_000)
        case .found(let document): return document
        }
    }
}
