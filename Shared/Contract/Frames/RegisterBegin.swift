/// "I want to log in from this device." Answered by `register_challenge` (contract §4).
package struct RegisterBegin: Sendable {
    package let whisperID: WhisperID?
    package let deviceID: UUIDText
    package let platform: Platform

    package static let definition: FrameDefinition = FrameDefinition(
        "register_begin", route: .service(.auth), privileged: false,
        fields: CommonFields.versions + [
            Field("whisperId", .whisperID, .optional), CommonFields.deviceID, CommonFields.platform,
        ],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"deviceId":"0f8fad5b-d9cb-469f-a165-70867728950e","platform":"ios"}"#,
            #"{"protocolVersion":1,"cryptoVersion":1,"whisperId":"WSP-JBPU-D452-TLT4","deviceId":"0f8fad5b-d9cb-469f-a165-70867728950e","platform":"android"}"#,
        ])

    package init(_ payload: Payload) {
        let frame = Self.definition
        let whisperID = frame.field("whisperId")
        self.whisperID = payload.has(whisperID) ? payload.whisperID(whisperID) : nil
        self.deviceID = payload.uuid(frame.field("deviceId"))
        self.platform = Platform(rawValue: payload.text(frame.field("platform")))!
    }
}

package enum Platform: String, CaseIterable, Sendable {
    case ios, android
}

extension Platform: WireCodable {
    package func encode(into writer: inout WireWriter) { writer.write(UInt8(self == .ios ? 0 : 1)) }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 0: self = .ios
        case 1: self = .android
        case let other: throw .unknown(other)
        }
    }
}
