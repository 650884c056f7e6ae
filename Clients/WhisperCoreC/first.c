/* cc $(pkg-config --cflags whispercore) first.c $(pkg-config --libs whispercore) -o first && ./first FOLDER wss://HOST */
#include <stdio.h>
#include <string.h>
#include <whispercore.h>

static void say(char *text) {
    puts(text ? text : "closed");
    wsp_free(text);
}

int main(int count, char **words) {
    char config[2048];
    wsp_handle core;
    if (count != 3) return 2;
    snprintf(config, sizeof config, "{\"dir\":\"%s\",\"serverUrl\":\"%s\"}", words[1], words[2]);
    printf("whispercore %s\n", wsp_version());
    say(wsp_open(config, NULL, 0, "yesUp", &core));
    if (!core) return 1;
    say(wsp_send(core, "identity_create", strlen("identity_create"))); /* the twelve words, once */
    say(wsp_send(core, "connect", strlen("connect")));
    for (int is_waiting = 1; is_waiting;) { /* whether there is a connection */
        char *event = wsp_recv(core, 10000);
        is_waiting = event && strstr(event, "\"connecting\"");
        say(event);
    }
    say(wsp_close(core, 10000));
    return 0;
}
