package import Contract

/// Why a question to the server brought nothing.
package enum InquiryError: Error, Equatable {
    /// There is no session now.
    case offline
    /// No answer in time, or the connection broke. It may have been done all the same.
    case noAnswer
    case refused(ErrorCode?, retryAfter: Duration?)
    case store(ClientStoreError)

    /// Whether the same question may do better soon.
    var isTemporary: Bool {
        switch self {
        case .noAnswer, .refused(.rateLimited, _), .refused(.internalError, _): true
        case .offline, .refused, .store: false
        }
    }
}

extension ServerHost {
    @discardableResult
    func inquire(_ frame: some ClientFrame) async throws(InquiryError) -> (any ServerFrame)? {
        do throws(LiveError) {
            return try await self.ask(frame, as: nil)
        } catch {
            switch error {
            case .offline: throw .offline
            case .refused(let code, let retryAfter): throw .refused(code, retryAfter: retryAfter)
            case .store(let error): throw .store(error)
            default: throw .noAnswer
            }
        }
    }
}
