package import Contract

/// What an application is told of a live conversation.
package enum LiveNews: Sendable, Equatable {
    // Of conversations of our own.

    /// This device holds the stream: what is typed goes out.
    case started(isResumed: Bool)
    /// It does not any more.
    case stopped(LiveStopped.Reason)
    /// Somebody knocks, and our user is to decide.
    case asks(PrincipalID, name: String, note: String?)
    /// What has become of a listener, and how many listen now.
    case listener(PrincipalID, name: String, LiveListenerChanged.Status, joined: Int)
    case attention(PrincipalID, name: String, LiveAttention.Want)
    /// From here on content is sealed with new keys.
    case keysChanged(generation: Int)
    /// The stream cannot be held: the server refuses.
    case refused(ErrorCode)

    // Of conversations of others.

    /// The whisperer decides.
    case waiting
    case joined(LiveStreamState, isTranscribed: Bool)
    case state(LiveState.State)
    case heard(ListenerMachine.Action)
    /// - Parameter note: of the whisperer.
    case over(ListeningMachine.End, note: String?)
}

/// Why a live conversation could not be made or found.
package enum LiveError: Error, Equatable {
    /// There is no session now.
    case offline
    /// No answer in time, or the connection broke.
    case noAnswer
    case refused(ErrorCode?, retryAfter: Duration?)
    /// The number is the HTTP status, 0 for an unreadable body.
    case server(status: Int)
    case unreachable(LinkError)
    /// No such conversation, or the link has been replaced.
    case notFound
    /// What the server shows is not what the link vouches for.
    case forged
    case nameTaken
    /// Conversations of our own belong to the profile that would be given up.
    case inUse
    /// Another device has written what we would write over, or we have not read it.
    case changed
    /// The server shows something older than what was seen.
    case outdated
    /// Our keys do not open what the server has.
    case unreadable
    /// More keys than one share of a transcript holds.
    case tooLong
    case store(ClientStoreError)
}
