import ClusterContract
import Contract
import HTTPAccess
import Hummingbird
import Store

// Records about the caller (contract §20.5).
extension PublicRoutes {
    func export(_ request: Request, _ peer: NetworkAddress?) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: peer, within: Rates.accountExport)
        let reading = try await self.stored { () async throws(StoreError) in
            try await self.held.document(for: session.caller)
        }
        switch reading {
        case .found(let document):
            self.exports.given[.person].increment()
            return .download(document, as: "\(session.caller.identity).json")
        case .refused(let callerStatus): throw HTTPRefusal(callerStatus) ?? .internalError
        case .busy:
            // A use is taken before, because calls at once must not get more. Nothing was read for this one.
            await self.limiter.giveBack(Rates.accountExport, "\(session.caller.identity)")
            throw .tooMany(retryAfterMilliseconds: 1_000)
        }
    }
}
