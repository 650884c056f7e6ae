/// The documents that a profile may have (contract §14.4).
package enum ProfileDocumentName: String, CaseIterable, Sendable {
    case user, whisper, listen, settings, favorites
}
