// bindings/java/src/main/java/io/ruda/ChatMessage.java - one message of a conversation.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** One message of a conversation; role is such as "system", "user", "assistant". */
public record ChatMessage(String role, String content) {
  /** A content that is null is the empty text. */
  public ChatMessage {
    NativeHandle.text("role", NativeHandle.need("role", role));
    content = content == null ? "" : NativeHandle.whole("content", content);
  }

  /** The bytes of a conversation, by the rule of bindings/common/session.h. */
  static byte[] pack(List<ChatMessage> messages) {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    NativeHandle.need("messages", messages);
    for (ChatMessage message : NativeHandle.needAll("messages", messages.toArray(new ChatMessage[0]), "a chat message")) {
      byte[] content = message.content.getBytes(StandardCharsets.UTF_8);
      packed.writeBytes((message.role + "\0" + content.length + "\0").getBytes(StandardCharsets.UTF_8));
      packed.writeBytes(content);
    }
    return packed.toByteArray();
  }
}
