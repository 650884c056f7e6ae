import Contract
import Foundation

// `make run`: the whole cluster on this machine, proved by a conversation, until Ctrl-C.

if CommandLine.arguments.dropFirst() == ["--version"] {
    print(Release.line("whisper-local"))
    exit(0)
}
signal(SIGPIPE, SIG_IGN)  // whoever reads our lines may go; the cluster is still taken down in order
do {
    exit(await runLocalCluster(try Settings(environment: ProcessInfo.processInfo.environment)))
} catch {
    say("error: \(error)")
    exit(1)
}
