package import Dispatch
import WhisperClient

/// Bounds of the core's interface.
public enum CoreLimits {
    /// Bytes of a command. The largest document of a profile fits, with quotes and line feeds escaped, or in Base64.
    public static let commandBytesMax = 524_288
    /// Bytes of a configuration, of a path, and of a text that has no bound of its own.
    public static let textBytesMax = 65_536
    /// Open cores of one process.
    public static let handlesMax = 64
    /// Questions to the server that wait for their answers, of one core.
    public static let requestsUnderWayMax = 64
    /// Events without a number that wait for the reader. Beyond it the oldest go, and `eventsLost` says how many.
    public static let eventsWaitingMax = 1_024
    /// Events `log` among them. Beyond it the newest are dropped, so that they displace no other events.
    public static let logsWaitingMax = 256
    /// Facts of an event `log`, and bytes of each and of its message.
    static let logFactsMax = 16
    static let logTextBytesMax = 256
    /// Numbered events that wait for the acknowledgement of a consumer.
    public static let eventsKeptMax = ClientLimits.eventsKeptMax
    /// How long the first session with the server may take.
    public static let sessionWithin: Duration = .seconds(30)
    /// Pause between two looks at a condition of which no event tells.
    static let lookEvery: DispatchTimeInterval = .seconds(1)
    /// Days for which they do.
    public static let eventsKeptDays = Int(ClientLimits.eventsKeptFor.components.seconds / 86_400)
    /// Programs that read events of one core side by side.
    package static let seatsMax = 32
    /// Live conversations and rooms that the programs of one core hold open.
    static let holdsMax = 64
    /// How long the last words of a stream may take to go out.
    static let lastWordsMillisecondsMax: Int64 = 10_000
    /// How long a program waits for the one before it, which has read for the same consumer or held the same thing, to be gone.
    package static let handOver: DispatchTimeInterval = .seconds(5)
    /// Events that the core reads from its store at once.
    static let eventsReadMax = 64
    /// Before a store is read again that could not be read.
    static let readPause: DispatchTimeInterval = .milliseconds(500)
    /// Numbered events that a daemon's program gets without acknowledging one. More than `eventsReadMax`.
    package static let eventsUnacknowledgedMax = 256
    /// Answers of the server that are kept for `answer_get`, and for how long.
    static let answersKeptMax = 64
    static let answersKeptFor = Duration.seconds(300)
    /// Words that `words_find` gives.
    static let wordsFoundMax = 8
    /// Messages, contacts or events of one answer.
    public static let listMax = 200
    /// Characters of what is searched for.
    static let searchCharactersMax = 500
    /// Characters of a consumer's name.
    public static let consumerCharacters = 1...64
    /// A link of a profile has fewer.
    static let profileLinkCharactersMax = 200
}
