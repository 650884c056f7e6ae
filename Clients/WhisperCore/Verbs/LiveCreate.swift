import Contract
import WhisperClient

extension Verb {
    private static let name = LiveParameters.name("name", about: "As it is called here.")

    static let liveCreate = Verb(
        "live_create", of: "live",
        about: "Makes a live conversation of our own. The server hears of it when it is whispered in.",
        [Self.name.field] + LiveParameters.settings, type: "conversation", LiveParameters.own,
        errors: [.noIdentity, .nameTaken, .store],
        samples: (#"{"name":"talk","title":"A talk","whisperer":"Ann"}"#, LiveParameters.sampleOwn),
        .client { opened, parameters, json in
            let name = try parameters[Self.name]
            guard isName(name) else { throw CoreError(.invalidField, "has characters that no name has", field: "name") }
            let whisperer = try LiveParameters.shown(parameters, LiveParameters.whisperer, "whisperer")
            guard let whisperer = try whisperer ?? opened.live.userName() ?? opened.id.map({ "\($0)" }) else {
                throw CoreError(.invalidField, "is missing", field: "whisperer")
            }
            let passcode = try LiveParameters.shown(parameters, LiveParameters.passcode, "passcode")
            let admission = try parameters[LiveParameters.admission] ?? (passcode == nil ? .knock : .passcode)
            guard (admission == .passcode) == (passcode != nil) else {
                throw CoreError(.invalidField, "does not fit the admission", field: "passcode")
            }
            let title = try LiveParameters.shown(parameters, LiveParameters.title, "title") ?? name
            let days = Int(try parameters[LiveParameters.transcriptDays] ?? 0)
            let own = try await opened.with {
                try $0.conversations.make(
                    name: name, title: title, whisperer: whisperer, admission: admission, passcode: passcode,
                    transcriptDays: days, $0)
            }
            let origin = opened.origin
            json.add("conversation", object: own) { Shapes.write($0, nil, origin: origin, &$1) }
        })
}
