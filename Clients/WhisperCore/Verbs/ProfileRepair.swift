import Contract
import WhisperClient

extension Verb {
    static let profileRepair = Verb(
        "profile_repair", of: "profiles",
        about:
            "Writes what is here over a document that the server shows, after `profileRolledBack` or `profileForeign`: ask the person before. It is right if the server was restored from a backup. Its readable values are merged first. With the setting `profiles` at `host` nothing is written, and `profile_write` may follow. `unsupported`: a later release has written it.",
        [ProfileParameters.name.field], type: "repaired",
        errors: ProfileParameters.errors + [.unreadable, .unsupported],
        samples: (#"{"name":"favorites"}"#, #"{"type":"repaired"}"#),
        .server { opened, parameters, _ in
            let name = try parameters[ProfileParameters.name]
            try await opened.with { try await $0.profileKeeper.repair(name, $0) }
        })
}
