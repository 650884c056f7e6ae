/// What all call frames of a client have in common (contract §7). The canonical line `messageId` is the `callId`.
enum SignedCall {
    static let fields = CommonFields.privileged + [Field("callId", .uuid)] + CommonFields.parties + CommonFields.sealed
    static let refusals: [(code: ErrorCode, when: String)] = [
        (.notFound, "There is no such call, it is over, or the caller is not part of it.")
    ]
    static func sample(_ more: String = "") -> String {
        CommonFields.sample(#""callId":"c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10","# + CommonFields.signedSample + more)
    }
}
