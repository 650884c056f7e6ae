import Contract
import WhisperClient

extension Verb {
    private static let readReceipts = TypedField.bool("readReceipts").optional
    private static let typingSetting = TypedField.bool("typing").optional
    private static let presenceSetting = TypedField.bool("presence").optional
    private static let backupSetting = TypedField.bool("backup").optional
    private static let mentionsSetting = TypedField.bool("mentions").optional
    private static let profilesSetting = TypedField.word("profiles", of: Shapes.profileKeepers).optional
    private static let relayCalls = TypedField.bool("relayCalls").optional

    static let settingsSet = Verb(
        "settings_set", of: "session",
        about: "Changes the given settings, and no others, on this device. `settings_get` describes each.",
        [
            Self.readReceipts.field, Self.typingSetting.field, Self.presenceSetting.field, Self.backupSetting.field,
            Self.mentionsSetting.field, Self.profilesSetting.field, Self.relayCalls.field,
        ],
        type: "settingsSet", [Field("settings", .object(Shapes.settings))], errors: [.noIdentity, .store],
        samples: (
            #"{"readReceipts":false}"#,
            #"{"type":"settingsSet","settings":{"readReceipts":false,"typing":true,"presence":true,"backup":true,"mentions":true,"profiles":"host","relayCalls":false}}"#
        ),
        .client { opened, parameters, json in
            var changes: [Preferences.Name: Bool] = [:]
            changes[.sendsReadReceipts] = try parameters[Self.readReceipts]
            changes[.showsTyping] = try parameters[Self.typingSetting]
            changes[.showsPresence] = try parameters[Self.presenceSetting]
            changes[.backsUp] = try parameters[Self.backupSetting]
            changes[.hearsMentions] = try parameters[Self.mentionsSetting]
            changes[.hostWritesProfile] = try parameters[Self.profilesSetting].map { $0 == Shapes.profileKeepers[1] }
            changes[.showsAddress] = try parameters[Self.relayCalls].map { !$0 }
            let settings = try await opened.with { [changes] in
                let settings = try $0.account.set(changes, $0)
                if changes[.hostWritesProfile] != nil { $0.profileKeeper.bound($0) }
                return settings
            }
            json.add("settings", object: settings) { Shapes.write($0, &$1) }
        })
}
