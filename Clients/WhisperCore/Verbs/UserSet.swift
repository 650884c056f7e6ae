import Contract
import WhisperClient

extension Verb {
    private static let username = LiveParameters.name("username", about: "As the person is called on all devices.")
        .optional
    private static let device = LiveParameters.name("device", about: "What this device is called.").optional

    static let userSet = Verb(
        "user_set", of: "profiles",
        about:
            "Sets what the devices of our profile call the person and this device. Without parameters it shows them.",
        [Self.username.field, Self.device.field], type: "user",
        [Field("username", .text(1...64), .optional), Field("device", .text(1...64), .optional)],
        errors: [.noIdentity, .offline, .store],
        samples: (#"{"username":"Ann","device":"phone"}"#, #"{"type":"user","username":"Ann","device":"phone"}"#),
        .client { opened, parameters, json in
            let username = try LiveParameters.shown(parameters, Self.username, "username")
            let device = try LiveParameters.shown(parameters, Self.device, "device")
            // The server has not given an id before the first session.
            guard device == nil || opened.id != nil else { throw CoreError(.offline, field: "device") }
            try await opened.with { try $0.conversations.name(user: username, device: device, $0) }
            json.add("username", try opened.live.userName())
            json.add("device", try opened.id.flatMap { try opened.live.deviceName($0) })
        })
}
