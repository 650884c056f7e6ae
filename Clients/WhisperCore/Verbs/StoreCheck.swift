import Contract
import WhisperClient

extension Verb {
    static let storeCheck = Verb(
        "store_check", of: "upkeep",
        about: "Reads the whole store and says whether each page opens and fits to the others. It takes its time.",
        type: "storeChecked", [Field("isWhole", .bool)], errors: [.noIdentity],
        samples: ("{}", #"{"type":"storeChecked","isWhole":true}"#),
        .read { opened, _, json in json.add("isWhole", opened.store.isWhole()) })
}
