import Contract
import WhisperClient

extension Verb {
    static let logout = Verb(
        "logout", of: "session",
        about:
            "Ends the session at the server, with the device's push tokens, and then the connection. Everything here stays. `connect` logs in anew.",
        type: "loggedOut", errors: [.noIdentity, .offline, .unreachable, .tooMany, .server, .store],
        samples: ("{}", #"{"type":"loggedOut"}"#),
        .server { opened, _, _ in try await opened.with { try await $0.account.logOut($0) } })
}

extension CoreError {
    init(of error: InquiryError) {
        switch error {
        case .offline: self.init(.offline)
        case .noAnswer: self.init(.unreachable)
        case .refused(.rateLimited, _): self.init(.tooMany)
        case .refused(.notFound, _): self.init(.notFound)
        case .refused: self.init(.server)
        case .store: self.init(.store)
        }
    }
}
