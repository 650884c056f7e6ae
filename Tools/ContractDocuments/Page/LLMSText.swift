import Contract
import WhisperCore

/// `llms.txt`: what the product is, the shortest programs, and where everything stands (llmstxt.org). A test finds each line of
/// its programs on the pages that tests execute.
enum LLMSText {
    static var text: String {
        [Self.opening, Self.programs, Self.verbs, Self.links].joined(separator: "\n\n") + "\n"
    }

    private static let opening = """
        # Whisper

        > Whisper is an end-to-end-encrypted messenger: a server of six Swift services, a client core, a terminal client, pages for a
        > browser, and libraries for Swift, C and Python. The server sees ids, times and sizes, never content.

        An accepted message is never lost. Messages arrive in order. A repeated message is stored once. The sender learns whether a
        message was delivered, read or expired. This is release \(Release.version). Linux x86-64 is built and tested. macOS and iOS are
        declared and never compiled.
        """

    private static let programs = """
        ## The shortest programs

        A server on a Debian 12 machine, from the packages:

        ```sh
        apt-get install -y ./*.deb
        whisper-setup chat.example.org --self-signed --registration open
        ```

        An app in Swift. Its package depends on
        `.package(url: "https://code.example.org/whisper.git", from: "\(Release.version)", traits: [])`:

        ```swift
        import WhisperCore

        let (server, friend) = (CommandLine.arguments[1], CommandLine.arguments[2])
        let invitation = CommandLine.arguments.dropFirst(3).first
        let core = try Core.open(CoreConfiguration(folder: "me", server: server))
        if core.identity == nil {
            print("Write these down:", try await core.createIdentity(invitation: invitation).joined(separator: " "))
        }
        try await core.connect()
        let contact = try await core.addContact(friend)
        try await core.send("Hello from an app", to: contact)
        try await core.settled()
        await core.close()
        ```

        A bot in Python, with the wheel `whispercore`:

        ```sh
        env/bin/python -m whispercore new mybot --server wss://chat.example.org --words-file words.txt
        ```

        ```python
        from whispercore import Bot, Core

        core = Core("mybot")
        bot = Bot(core, "answers")


        @bot.on("messageReceived")
        def echo(event):
            message = event["message"]
            if "groupId" not in message and message.get("text"):
                bot.reply(message, message["text"])


        bot.run()
        ```
        """

    /// Verbs of one noun stand in one line.
    private static var verbs: String {
        var nouns: [(noun: String, names: [String])] = []
        for verb in VerbCatalogue.all {
            if let place = nouns.firstIndex(where: { $0.noun == verb.noun }) {
                nouns[place].names.append(verb.name)
            } else {
                nouns.append((verb.noun, [verb.name]))
            }
        }
        return """
            ## Verbs of the client core

            A program sends a verb, a space and one JSON object, and gets one JSON object. [core.md](docs/core.md) describes each of them.

            \(nouns.map { "- \($0.noun): \($0.names.joined(separator: ", "))" }.joined(separator: "\n"))
            """
    }

    private static let links = """
        ## Start

        - [A server on one machine](docs/operate-one-machine.md): Debian packages, `whisper-setup HOST --self-signed`, upgrade and removal
        - [A first app in Swift](docs/first-app.md): one dependency line, `import WhisperCore`, a message in a dozen lines
        - [A first bot in Python](docs/first-bot.md): one wheel, a bot in a few lines
        - [The terminal client](docs/terminal.md): all commands of `whisper`

        ## Write a client or an app

        - [Verbs and events of the client core](docs/core.md): what `perform` and `core.send` take
        - [Embedding](docs/embedding.md): the core in C, Python and any language by JSON-RPC 2.0
        - [The protocol](docs/protocol.md): every frame and route with samples, bounds and error codes
        - [The contract](docs/contract.md): the rules that hold between client and server
        - [Rooms](docs/rooms.md): how a WebRTC stack talks with `whisper room`

        ## For machines

        - [OpenRPC of the client core](docs/core.json)
        - [OpenAPI of everything over HTTP](docs/openapi.json)
        - [AsyncAPI of the WebSocket](docs/asyncapi.json)
        - [TypeScript declarations](docs/typescript/whisper.d.ts)
        - [JSON Schemas of all frames](docs/schemas)
        - [Test vectors](docs/vectors)

        ## Operate

        - [Operations](docs/operations.md): containers, systemd, Kubernetes, scaling, backups, alerts
        - [Settings](docs/settings.md): every setting with bounds and default
        - [Retention](docs/retention.md): what a server keeps, and how long
        - [Storage bounds](docs/storage-bounds.md): how much anybody can make the cluster keep

        ## Understand

        - [Glossary](docs/glossary.md): the words, and where they stand in the code
        - [Architecture](docs/architecture.md): the path of a message, ownership, losses and decisions
        - [Services](docs/services.md): each service in detail
        - [The client core inside](docs/client.md)
        - [Threat model](docs/threat-model.md): what is protected from whom
        - [Benchmarks](docs/benchmarks.md): figures, and how to repeat them
        - [Contributing](CONTRIBUTING.md): how to build, test and change the project
        """
}
