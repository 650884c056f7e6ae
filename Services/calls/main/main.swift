import CallsCore
import ServiceRuntime

await runService("calls") { context in
    let calls = makeCalls()
    return Composition(parts: [
        HTTPListener.part(
            on: try context.settings.httpAddress(), logger: context.logger, routes: calls.addRoutes)
    ])
}
