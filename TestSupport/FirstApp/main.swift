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
