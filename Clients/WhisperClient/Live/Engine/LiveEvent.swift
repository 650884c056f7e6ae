package import Contract

/// An event of a live conversation, for the application.
package enum LiveNews: Sendable, Equatable {
    // Events of our own conversations.

    /// This device holds the stream: typed text is sent.
    case started(isResumed: Bool)
    /// This device no longer holds the stream.
    case stopped(LiveStopped.Reason)
    /// A listener knocks, and our user must decide.
    case asks(PrincipalID, name: String, note: String?)
    /// A listener's new status, and the number of present listeners.
    case listener(PrincipalID, name: String, LiveListenerChanged.Status, joined: Int)
    case attention(PrincipalID, name: String, LiveAttention.Want)
    /// Content is sealed with new keys from now on.
    case keysChanged(generation: Int)
    /// A completed line has gone out.
    case said(Int, LiveText)
    /// The server refuses to let this device hold the stream.
    case refused(ErrorCode)

    // Events of other identities' conversations.

    /// The whisperer decides.
    case waiting
    case joined(LiveStreamState, isTranscribed: Bool)
    case state(LiveState.State)
    case heard(ListenerMachine.Action)
    /// - Parameter note: the whisperer's note.
    case over(ListeningMachine.End, note: String?)
}

/// The reason why a command about live conversations or profiles failed.
package enum LiveError: Error, Equatable {
    /// There is no session now.
    case offline
    /// No answer in time, or the connection ended.
    case noAnswer
    case refused(ErrorCode?, retryAfter: Duration?)
    /// The number is the HTTP status, 0 for an unreadable body.
    case server(status: Int)
    case unreachable(LinkError)
    /// No such conversation, or the link has been replaced.
    case notFound
    /// The server's answer does not match the link's keys.
    case forged
    case nameTaken
    /// Our own conversations belong to the profile that would be given up.
    case inUse
    /// Another device has written since, or this version was not read here.
    case changed
    /// The server shows an older document than this device has seen.
    case outdated
    /// Our keys do not open the server's document.
    case unreadable
    /// A later release has written the document.
    case newer
    /// Too many keys for one share of a transcript, or too many bytes for a document.
    case tooLong
    case store(ClientStoreError)
}
