import AttachmentsCore
import ServiceRuntime

await runService("attachments") { context in
    let attachments = makeAttachments()
    return Composition(parts: [
        HTTPListener.part(
            on: try context.settings.httpAddress(), logger: context.logger, routes: attachments.addRoutes)
    ])
}
