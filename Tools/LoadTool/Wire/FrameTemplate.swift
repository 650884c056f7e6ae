import Contract

/// A frame of which only the message id, and perhaps the signature, changes from one to the next.
struct FrameTemplate {
    let bytes: [UInt8]
    let idAt: Int
    /// Meaningless in a frame without signature.
    let signatureAt: Int

    /// Base64 of an Ed25519 signature.
    static let signatureLength = 88

    static func sendMessage(_ letter: Letter, token: String) -> FrameTemplate {
        let head =
            #"{"type":""# + letter.type + #"","payload":{"protocolVersion":1,"cryptoVersion":1,"sessionToken":""#
            + token
            + (letter.group.map { #"","groupId":""# + $0 } ?? "") + #"","messageId":""#
        let middle =
            #"","from":""# + letter.from + #"","to":""# + letter.to + #"","msgType":"text","timestamp":"#
            + "\(letter.timestamp)" + #","nonce":""# + letter.nonce + #"","ciphertext":""# + letter.ciphertext
            + #"","sig":""#
        return FrameTemplate(head: head, middle: middle, tail: #""}}"#)
    }

    static func deliveryReceipt(from: String, to: String, token: String, timestamp: Int64) -> FrameTemplate {
        let head =
            #"{"type":"delivery_receipt","payload":{"protocolVersion":1,"cryptoVersion":1,"sessionToken":""# + token
            + #"","messageId":""#
        let tail = #"","from":""# + from + #"","to":""# + to + #"","status":"delivered","timestamp":\#(timestamp)}}"#
        return FrameTemplate(head: head, middle: nil, tail: tail)
    }

    private init(head: String, middle: String?, tail: String) {
        var bytes = Array(head.utf8)
        self.idAt = bytes.count
        bytes += [UInt8](repeating: UInt8(ascii: "0"), count: MessageNumber.textLength)
        if let middle { bytes += middle.utf8 }
        self.signatureAt = bytes.count
        if middle != nil { bytes += [UInt8](repeating: UInt8(ascii: "A"), count: Self.signatureLength) }
        bytes += tail.utf8
        self.bytes = bytes
    }
}
