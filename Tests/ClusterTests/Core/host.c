/* A host in C: what an app in any language relies on. Prints "ok", or what is not as promised. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "whispercore.h"

/* Longest life of this process, and of its child, in seconds: a call that never returns fails the test. */
enum { patience = 120 };

#define THREADS 64
#define ROUNDS 40

static void fail(const char *what, const char *text) {
    fprintf(stderr, "%s: %s\n", what, text ? text : "NULL");
    _exit(1);
}

/* The text says it; then it is freed. */
static void expect(const char *what, char *text, const char *part) {
    if (!text || !strstr(text, part)) fail(what, text);
    wsp_free(text);
}

static char *command(wsp_handle core, const char *text) { return wsp_send(core, text, strlen(text)); }

static wsp_handle open_core(const char *config, const char *says) {
    wsp_handle core = 77;
    expect("open", wsp_open(config, NULL, 0, "yesUp", &core), says);
    if ((core == 0) != (strstr(says, "ok") == NULL)) fail("handle", says);
    return core;
}

static wsp_handle shared;

static void *hammer(void *argument) {
    unsigned seed = (unsigned)(size_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        seed = seed * 1664525u + 1013904223u;
        char *answer = NULL;
        switch ((seed >> 16) % 6) {
        case 0: answer = command(shared, "contact_list"); break;
        case 1: answer = wsp_query(shared, "chat_list", 9); break;
        case 2: answer = command(shared, "events_subscribe {\"consumer\":\"app\"}"); break;
        case 3: answer = wsp_query(shared, (const char *)&seed, sizeof seed); break;
        case 4: answer = command(shared + 1000 + (wsp_handle)seed, "contact_list"); break;
        default: answer = wsp_recv(shared, 0); wsp_interrupt(shared); break;
        }
        if (!answer) fail("a thread", NULL);
        wsp_free(answer);
    }
    return NULL;
}

static void *read_until_closed(void *argument) {
    (void)argument;
    for (;;) {
        char *event = wsp_recv(shared, -1);
        if (!event) return NULL;
        wsp_free(event);
    }
}

static void try_threads(void) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, hammer, (void *)(i + 1))) fail("pthread_create", "");
    }
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* The child has the parent's memory, and none of its threads. It must neither hang nor keep the folder locked. */
static void try_fork(wsp_handle core, const char *config) {
    int done[2], hold[2];
    char byte = 0;
    if (pipe(done) || pipe(hold)) fail("pipe", "");
    pid_t child = fork();
    if (child == 0) {
        alarm(patience);
        wsp_handle other = 77;
        expect("send in a fork", command(core, "contact_list"), "\"forked\"");
        expect("query in a fork", wsp_query(core, "contact_list", 12), "\"forked\"");
        expect("open in a fork", wsp_open(config, NULL, 0, NULL, &other), "\"forked\"");
        expect("suspend in a fork", wsp_suspend(core, 1), "\"forked\"");
        expect("resume in a fork", wsp_resume(core), "\"forked\"");
        expect("close in a fork", wsp_close(core, 1), "\"forked\"");
        if (other != 0 || wsp_recv(core, -1) != NULL) fail("recv in a fork", "");
        wsp_interrupt(core);
        byte = 1;
        if (write(done[1], &byte, 1) != 1) _exit(1);
        if (read(hold[0], &byte, 1) != 1) _exit(1);
        _exit(0);
    }
    close(done[1]);
    if (read(done[0], &byte, 1) != 1) fail("the fork", "ended early");
    expect("close beside a fork", wsp_close(core, 60000), "\"isComplete\":true");
    core = open_core(config, "\"ok\"");
    expect("use beside a fork", command(core, "contact_list"), "\"contacts\"");
    expect("close again", wsp_close(core, 60000), "\"isComplete\":true");
    int status = 1;
    if (write(hold[1], &byte, 1) != 1 || waitpid(child, &status, 0) != child || status != 0) fail("the fork", "failed");
}

/* Files of the host's own, below a folder. */
static void try_files(wsp_handle core, const char *folder) {
    char plain[512], sealed[512], opened[512], key[256], text[16] = "";
    snprintf(plain, sizeof plain, "%s.plain", folder);
    snprintf(sealed, sizeof sealed, "%s.sealed", folder);
    snprintf(opened, sizeof opened, "%s.opened", folder);
    FILE *file = fopen(plain, "w");
    if (!file || fputs("one file", file) < 0 || fclose(file) != 0) fail("files", plain);
    expect("no path", wsp_file_seal(core, "a", sealed), "\"invalidField\"");
    expect("no file", wsp_file_seal(core, opened, sealed), "\"file\"");
    expect("no room", wsp_file_seal(core, plain, plain), "\"file\"");
    expect("NULL", wsp_file_open(core, plain, opened, NULL), "\"error\"");
    char *answer = wsp_file_seal(core, plain, sealed);
    char *start = answer ? strstr(answer, "\"key\":{") : NULL;
    if (!start || !strstr(answer, "\"bytes\":8")) fail("seal a file", answer);
    snprintf(key, sizeof key, "%.*s", (int)(strchr(start, '}') - start - 5), start + 6);
    wsp_free(answer);
    expect("another key", wsp_file_open(core, sealed, opened, "{\"key\":\"x\"}"), "\"invalidField\"");
    expect("open a file", wsp_file_open(core, sealed, opened, key), "\"ok\"");
    file = fopen(opened, "r");
    if (!file || !fgets(text, sizeof text, file) || strcmp(text, "one file") != 0) fail("files", text);
    fclose(file);
    expect("there is one", wsp_file_open(core, sealed, opened, key), "\"file\"");
    remove(plain);
    remove(sealed);
    remove(opened);
}

static void try_media(void) {
    uint8_t key[32] = {7}, frame[64] = "one frame", before[64];
    size_t length = 0;
    if (wsp_media_seal(key, 5, frame, 9, 24, &length) != 1) fail("media", "does not fit, and was sealed");
    if (wsp_media_seal(key, 5, frame, 9, sizeof frame, &length) != 0 || length != 25) fail("media", "seal");
    memcpy(before, frame, sizeof frame);
    if (wsp_media_open(key, 6, frame, 25, &length) != 2) fail("media", "another number");
    frame[3] ^= 1;
    if (wsp_media_open(key, 5, frame, 25, &length) != 2) fail("media", "a changed bit");
    frame[3] ^= 1;
    if (memcmp(before, frame, sizeof frame)) fail("media", "a refusal changed the frame");
    if (wsp_media_open(key, 5, frame, 15, &length) != 2) fail("media", "too short");
    if (wsp_media_open(key, 5, frame, 25, &length) != 0 || length != 9) fail("media", "open");
    if (memcmp(frame, "one frame", 9)) fail("media", "other bytes");
    if (wsp_media_open(NULL, 5, frame, 25, &length) != 1) fail("media", "NULL");
}

/* A sealed folder: its key changes, and its identity moves to another folder. */
static void try_keys(const char *root) {
    uint8_t first[32] = {1}, second[32] = {2}, third[32] = {3};
    char config[8192], other[8192], file[4096], folder[4096];
    snprintf(config, sizeof config, "{\"dir\":\"%s/sealed\",\"serverUrl\":\"ws://127.0.0.1:1\"}", root);
    snprintf(other, sizeof other, "{\"dir\":\"%s/moved\",\"serverUrl\":\"ws://127.0.0.1:1\",\"keyKind\":\"raw\"}", root);
    snprintf(file, sizeof file, "%s/export", root);
    snprintf(folder, sizeof folder, "%s/moved", root);
    wsp_handle core = 0, none = 77;
    expect("open with a key", wsp_open(config, first, 32, "error", &core), "\"ok\"");
    expect("rekey nobody", wsp_rekey(core, second, 32), "\"noIdentity\"");
    expect("export nobody", wsp_export(core, file, third, 32), "\"noIdentity\"");
    expect("create", command(core, "identity_create"), "\"words\"");
    expect("a short key", wsp_rekey(core, second, 31), "\"config\"");
    expect("no key", wsp_rekey(core, NULL, 32), "\"config\"");
    expect("rekey", wsp_rekey(core, second, 32), "\"ok\"");
    expect("after rekey", wsp_query(core, "contact_list", 12), "\"contacts\"");
    expect("export", wsp_export(core, file, third, 32), "\"ok\"");
    expect("export again", wsp_export(core, file, third, 32), "\"path\"");
    expect("close", wsp_close(core, 60000), "\"isComplete\":true");
    expect("the old key", wsp_open(config, first, 32, NULL, &none), "\"wrongKey\"");
    expect("without the key", wsp_open(config, NULL, 0, NULL, &none), "\"wrongKey\"");
    if (none != 0) fail("handle", "of a wrong key");
    expect("import with another key", wsp_import(file, other, second, 32), "\"wrongKey\"");
    expect("import", wsp_import(file, other, third, 32), "\"ok\"");
    expect("import again", wsp_import(file, other, third, 32), "\"identityExists\"");
    expect("open what was moved", wsp_open(other, third, 32, NULL, &core), "\"ok\"");
    expect("close", wsp_close(core, 60000), "\"isComplete\":true");
    expect("wipe without the key", wsp_wipe(folder), "\"ok\"");
    expect("import after wipe", wsp_import(file, other, third, 32), "\"ok\"");
}

int main(int count, char **words) {
    if (count != 2) return 64;
    alarm(patience);
    char config[8192], other[8192], folder[4096];
    snprintf(folder, sizeof folder, "%s/a", words[1]);
    snprintf(config, sizeof config, "{\"dir\":\"%s\",\"serverUrl\":\"ws://127.0.0.1:1\"}", folder);
    snprintf(other, sizeof other, "{\"dir\":\"%s/b\",\"serverUrl\":\"ws://127.0.0.1:1\"}", words[1]);
    if (wsp_abi_version() != WSP_ABI_VERSION) fail("version", "");

    /* Nothing, and garbage. */
    static char large[600000];
    memset(large, 'x', sizeof large - 1);
    uint8_t key[32] = {1};
    wsp_handle core = 77;
    expect("no config", wsp_open(NULL, NULL, 0, NULL, &core), "\"error\"");
    expect("no handle", wsp_open(config, NULL, 0, NULL, NULL), "\"config\"");
    expect("a short key", wsp_open(config, key, 31, NULL, &core), "\"config\"");
    expect("a key of no length", wsp_open(config, key, 0, NULL, &core), "\"config\"");
    expect("a length of no key", wsp_open(config, NULL, 32, NULL, &core), "\"config\"");
    expect("a long key", wsp_open(config, key, (size_t)-1, NULL, &core), "\"config\"");
    expect("confirm", wsp_open(config, NULL, 0, "no", &core), "\"config\"");
    if (core != 0) fail("handle", "of a refusal");
    open_core("", "\"config\"");
    open_core("{\"dir\":", "\"config\"");
    open_core("\xff\xfe", "\"config\"");
    open_core(large, "\"tooLong\"");
    for (wsp_handle none = -2; none <= 2; none++) {
        expect("no core", command(none, "contact_list"), "\"closed\"");
        expect("no core", wsp_close(none, 0), "\"closed\"");
        if (wsp_recv(none, -1) != NULL) fail("recv", "of no core");
        wsp_interrupt(none);
    }
    expect("rekey", wsp_rekey(0, key, 32), "\"closed\"");
    expect("export", wsp_export(0, "x", key, 32), "\"closed\"");
    expect("import", wsp_import("/none/x", config, key, 32), "\"error\"");
    expect("import", wsp_import(NULL, config, key, 32), "\"error\"");
    expect("file_seal", wsp_file_seal(0, "/a", "/b"), "\"closed\"");
    expect("file_open", wsp_file_open(0, "/a", "/b", "{}"), "\"closed\"");
    expect("parse_text", wsp_parse_text("a *b*", 5), "\"spans\":[{\"text\":\"a \"},{\"text\":\"b\",\"format\":\"bold\"}]");
    expect("parse_text", wsp_parse_text(NULL, 5), "\"error\"");
    expect("parse_text", wsp_parse_text("\xc3\x28", 2), "\"invalidCommand\"");
    expect("wipe", wsp_wipe(NULL), "\"error\"");
    expect("schema", wsp_schema(), "\"openrpc\"");
    wsp_free(NULL);
    try_media();
    try_keys(words[1]);

    core = open_core(config, "\"ok\"");
    expect("NULL", wsp_send(core, NULL, 5), "\"invalidCommand\"");
    expect("too long", wsp_send(core, large, sizeof large), "\"tooLong\"");
    expect("far too long", wsp_send(core, large, (size_t)-1), "\"tooLong\"");
    expect("nothing", wsp_send(core, "", 0), "\"invalidCommand\"");
    expect("no text", wsp_send(core, "\xc3\x28", 2), "\"invalidCommand\"");
    expect("not yet", command(core, "contact_list"), "\"noIdentity\"");
    expect("create", command(core, "identity_create"), "\"words\"");
    open_core(config, "\"locked\"");
    try_files(core, words[1]);
    expect("wipe", wsp_wipe(folder), "\"locked\"");
    expect("suspend", wsp_suspend(core, 60000), "\"isComplete\":true");
    expect("suspended", command(core, "contact_list"), "\"suspended\"");
    expect("resume", wsp_resume(core), "\"ok\"");

    shared = core;
    try_threads();
    /* Nobody listens at the server: the engine works, and fails, while others ask. */
    expect("connect", command(core, "connect"), "\"connecting\"");
    try_threads();
    pthread_t reader;
    if (pthread_create(&reader, NULL, read_until_closed, NULL)) fail("pthread_create", "");
    expect("close", wsp_close(core, 60000), "\"isComplete\":true");
    pthread_join(reader, NULL);
    expect("close twice", wsp_close(core, 60000), "\"isComplete\":true");
    expect("use after close", command(core, "contact_list"), "\"closed\"");
    if (wsp_recv(core, -1) != NULL) fail("recv", "after close");

    core = open_core(config, "\"ok\"");
    try_fork(core, config);
    expect("wipe", wsp_wipe(folder), "\"ok\"");
    wsp_handle last = open_core(other, "\"ok\"");
    expect("the last", wsp_close(last, 60000), "\"closed\"");
    puts("ok");
    return 0;
}
