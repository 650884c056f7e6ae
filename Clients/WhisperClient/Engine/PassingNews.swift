package import Contract

/// Events of the moment. None is stored: a later subscriber queries the current state.
package enum PassingNews: Sendable, Equatable {
    case settings(Preferences)
    case typing(WhisperID, isTyping: Bool)
    case presence(WhisperID, PresenceState)
    /// The state of a chat after the user has read, written or cleared something.
    case chat(ChatState)
    /// Somebody, perhaps ourselves, has set how long new messages of a chat are kept; 0 seconds: they stay.
    case timer(Conversation, by: WhisperID, seconds: Int64)
    /// Messages have disappeared here.
    case expired(Conversation, [DisappearedMessage])
    case call(CallNews)
    case file(FileProgress)
    /// Another device has changed our profile of live conversations.
    case profile(UUIDText, ProfileChanged.Change)
    case profileDocument(ProfileDocumentName, ProfileDocumentNews)
    case nearby(NearbyNews)
}
