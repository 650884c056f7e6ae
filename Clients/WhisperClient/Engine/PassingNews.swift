package import Contract

/// News of now alone: nothing of it is kept, and whoever comes later asks how things stand.
package enum PassingNews: Sendable, Equatable {
    case settings(Preferences)
    case typing(WhisperID, isTyping: Bool)
    case presence(WhisperID, PresenceState)
    /// Of a chat: somebody here has read, written or cleared something.
    case chat(ChatState)
    case call(CallNews)
    case file(FileProgress)
    /// Another device has changed our profile of live conversations.
    case profile(UUIDText, ProfileChanged.Change)
    case nearby(NearbyNews)
}

extension WhisperClient {
    /// Frames that concern this moment only.
    func take(passing frame: (any ServerFrame)?) {
        switch frame {
        case is LogoutAck: self.loggedOut()
        case let notification as TypingNotification: self.take(notification)
        case let update as PresenceUpdate: self.take(update)
        case let changed as ProfileChanged: self.take(changed)
        default: self.take(call: frame)
        }
    }
}
