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
    if (NativeHandle.need("role", role).indexOf('\0') >= 0) throw new IllegalArgumentException("the role holds a NUL");
    if (content == null) content = "";
  }

  /** The bytes of a conversation, by the rule of bindings/common/session.h. */
  static byte[] pack(List<ChatMessage> messages) {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    NativeHandle.need("messages", messages);
    for (ChatMessage message : NativeHandle.needAll("messages", messages.toArray(new ChatMessage[0]))) {
      byte[] content = message.content.getBytes(StandardCharsets.UTF_8);
      packed.writeBytes((message.role + "\0" + content.length + "\0").getBytes(StandardCharsets.UTF_8));
      packed.writeBytes(content);
    }
    return packed.toByteArray();
  }
}
